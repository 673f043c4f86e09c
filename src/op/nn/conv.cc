// Convolutions: nn.conv1d, conv2d, conv3d, their blocked forms nn.contrib_(depthwise_)conv2d_NCHWc, and
// nn.conv2d_backward_weight. winograd.cc has those of transformed weights.

#include "op/nn/conv.h"
#include "ir/prim/ops.h"
#include "op/layer_channels.h"
#include "op/layout_rules.h"
#include "op/nn/gradients.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"

namespace tessera::op {

using relay::ConvAttrs;
using relay::may_equal;

void check_described_weight(const Array<PrimExpr>& described, const Array<PrimExpr>& given) {
  for (size_t i = 0; i < given.size(); ++i)
    if (described[i].defined() && !may_equal(described[i], given[i]))
      throw Error(TypeError) << "data and attributes describe a weight of "
                             << (i == 0   ? "out channels "
                                 : i == 1 ? "in channels "
                                          : "kernel size ")
                             << described[i] << ", but it has " << given[i] << ": its shape as (out, in / groups, "
                             << "kernel size...) is " << to_text(given);
}

Array<PrimExpr> spatial_windows(const Array<PrimExpr>& shape, const Array<PrimExpr>& kernel_size,
                                const ConvWindow& window) {
  const size_t spatial = window.strides.size();
  Array<PrimExpr> padding = topi::full_padding(window.padding, spatial), out;
  for (size_t i = 0; i < spatial; ++i) {
    PrimExpr extent = on_extent(shape[2 + i], [&](const PrimExpr& n) { return n + padding[i] + padding[i + spatial]; });
    out.push_back(topi::window_count(extent, kernel_size[i], window.dilation[i], window.strides[i]));
    if (const int64_t* count = as_int(out.back()); count && *count < 1)
      throw Error(TypeError) << "the window of kernel size " << kernel_size[i] << " does not fit into " << extent
                             << " elements";
  }
  return out;
}

namespace {

const ConvAttrs* conv_attrs(const Attrs& attrs) {
  auto* out = cast_or_null<ConvAttrs>(attrs.get());
  if (!out) throw Error(TypeError) << "the call has no attributes of a convolution";
  if (out->groups < 1) throw Error(TypeError) << "groups is " << out->groups << ", but must be at least 1";
  return out;
}

/// What the attributes and the data say of the weight (out, in / groups, kernel size...); empty where they do not.
std::vector<PrimExpr> described_weight(const ConvAttrs* attrs, const PrimExpr& in_channels) {
  const size_t spatial = attrs->strides.size();
  PrimExpr ins = on_extent(in_channels, [&](const PrimExpr& n) { return floordiv(n, attrs->groups); });
  std::vector<PrimExpr> out{attrs->channels, ins};
  if (attrs->kernel_size.defined() && attrs->kernel_size.size() != spatial)
    throw Error(TypeError) << "kernel_size must have " << spatial << " values, got " << attrs->kernel_size.size();
  for (size_t i = 0; i < spatial; ++i) out.push_back(attrs->kernel_size.defined() ? attrs->kernel_size[i] : PrimExpr());
  return out;
}

bool is_whole(const std::vector<PrimExpr>& shape) {
  for (const PrimExpr& extent : shape)
    if (!extent) return false;
  return true;
}

/// data and weight in their layouts -> the result in its own. A weight of unknown type gets it from the attributes.
/// `trusts_weight`: a weight in some blocked layout that kernel_layout does not name is taken as it is.
template <bool trusts_weight>
bool conv_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = conv_attrs(query.attrs());
  const size_t spatial = attrs->strides.size();
  Layout plain = make_layout(topi::plain_data_layout(spatial));
  Layout plain_kernel = make_layout(topi::plain_kernel_layout(spatial));
  Layout in = make_layout(attrs->data_layout), kernel = make_layout(attrs->kernel_layout);
  Layout out = attrs->out_layout.empty() ? in : make_layout(attrs->out_layout);
  check_rank(query, 0, "data", attrs->data_layout);
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape);
  if (const int64_t* channels = as_int(shape[1]); channels && *channels % attrs->groups != 0)
    throw Error(TypeError) << "data has " << *channels << " channels, which " << attrs->groups
                           << " groups do not divide";
  std::vector<PrimExpr> described = described_weight(attrs, shape[1]);

  Array<PrimExpr> plain_weight;
  auto* weight = query.tensor(1);
  if (trusts_weight && weight && is_whole(described)) {
    plain_weight = described;
  } else if (weight) {
    check_rank(query, 1, "weight", attrs->kernel_layout);
    plain_weight = convert_shape(kernel, plain_kernel, weight->shape);
    if (topi::is_depthwise(attrs->groups, shape[1], plain_weight)) {  // (channels, multiplier) as (out, in / groups)
      plain_weight.set(0, plain_weight[0] * plain_weight[1]);
      plain_weight.set(1, make_const(plain_weight[1].dtype(), 1));
    }
    check_described_weight(described, plain_weight);
  } else if (is_whole(described)) {
    plain_weight = described;
    query.argument(1, TensorType(convert_shape(plain_kernel, kernel, plain_weight), data->dtype));
  } else {
    return false;
  }
  ConvWindow window{attrs->strides, attrs->padding, attrs->dilation};
  Array<PrimExpr> result{shape[0], plain_weight[0]};
  for (const PrimExpr& extent : spatial_windows(shape, {plain_weight.begin() + 2, plain_weight.end()}, window))
    result.push_back(extent);
  DataType dtype = attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype;
  query.result(TensorType(convert_shape(plain, out, result), dtype));
  return true;
}

Array<te::Tensor> conv(const Attrs& attrs, const Array<te::Tensor>& in, const Type& out) {
  topi::ConvOptions options = conv_options(conv_attrs(attrs), out.as<TensorTypeNode>()->dtype);
  size_t rank = in[1]->shape.size();
  if (rank == 6 && make_layout(options.kernel_layout)->axes.size() != rank)  // blocks of in and of out channels
    options.kernel_layout =
        "OIHW" + std::to_string(*as_int(in[1]->shape[4])) + "i" + std::to_string(*as_int(in[1]->shape[5])) + "o";
  return {topi::conv(in[0], in[1], options)};
}

/// The convolution whose weight's gradient is asked for. Its attributes name the layouts of grad, data and weight as
/// data_layout, kernel_layout and out_layout.
topi::ConvOptions differentiated(const ConvAttrs* attrs, DataType out_dtype) {
  topi::ConvOptions options = conv_options(attrs, out_dtype);
  options.out_layout = attrs->data_layout;
  options.data_layout = attrs->kernel_layout;
  options.kernel_layout = attrs->out_layout.empty() ? topi::plain_kernel_layout(2) : attrs->out_layout;
  return options;
}

bool backward_weight_type(TypeQuery& query) {
  auto *grad = query.tensor(0), *data = query.tensor(1);
  if (!grad || !data) return false;
  auto* attrs = conv_attrs(query.attrs());
  topi::ConvOptions options = differentiated(attrs, {});
  check_rank(query, 0, "grad", options.out_layout);
  check_rank(query, 1, "data", options.data_layout);
  if (!attrs->kernel_size.defined() || attrs->kernel_size.size() != attrs->strides.size())
    throw Error(TypeError) << "kernel_size must have " << attrs->strides.size() << " values";
  Layout plain = make_layout("NCHW");
  Array<PrimExpr> grads = convert_shape(make_layout(options.out_layout), plain, grad->shape);
  Array<PrimExpr> datas = convert_shape(make_layout(options.data_layout), plain, data->shape);
  PrimExpr ins = on_extent(datas[1], [&](const PrimExpr& n) { return floordiv(n, attrs->groups); });
  Array<PrimExpr> weight{grads[1], ins, attrs->kernel_size[0], attrs->kernel_size[1]};
  DataType dtype = attrs->out_dtype.is_void() ? grad->dtype : attrs->out_dtype;
  query.result(TensorType(convert_shape(make_layout("OIHW"), make_layout(options.kernel_layout), weight), dtype));
  return true;
}

Array<te::Tensor> backward_weight(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = conv_attrs(given);
  topi::ConvOptions options = differentiated(attrs, out.as<TensorTypeNode>()->dtype);
  return {topi::conv_backward_weight(in[0], in[1], attrs->kernel_size, options)};
}

template <class A>
OpRecord conv_record(const char* name, const char* rule_name, const char* doc, TypeRule rule = conv_type<false>) {
  return OpRecord(name)
      .doc(doc)
      .template attrs<A>()
      .input("data", "the input, in data_layout")
      .input("weight", "the filters, in kernel_layout")
      .support_level(2)
      .type(rule_name, rule)
      .fusion(Fusion::OutputElementwise)
      .layout(layout::convolution)
      .compute(conv)
      .gradient(conv_gradient);
}

}  // namespace

bool described_conv_type(relay::TypeQuery& query) { return conv_type<true>(query); }

topi::ConvOptions conv_options(const Attrs& attrs, DataType out_dtype) {
  return conv_options(conv_attrs(attrs), out_dtype);
}

static void conv_records() {
  conv_record<relay::Conv1DAttrs>("nn.conv1d", "Conv1D", "Convolution over one spatial dimension.")
      .convert_layout(layout::convert_conv<relay::ConvAttrs>)
      .alter_layout(layout::block_conv)
      .legalize(layout::trim_kernel)
      .channels(conv_channels)
      .precision(Precision::Always);
  conv_record<relay::Conv2DAttrs>("nn.conv2d", "Conv2D", "Convolution over two spatial dimensions.")
      .convert_layout(layout::convert_conv<relay::ConvAttrs>)
      .alter_layout(layout::alter_conv2d)
      .legalize(layout::legalize_conv2d)
      .channels(conv_channels)
      .takes_narrow_weight()
      .precision(Precision::Always)
      .quantized(quantized_conv2d);
  conv_record<relay::Conv3DAttrs>("nn.conv3d", "Conv3D", "Convolution over three spatial dimensions.")
      .convert_layout(layout::convert_conv<relay::ConvAttrs>)
      .alter_layout(layout::block_conv)
      .legalize(layout::trim_kernel)
      .channels(conv_channels)
      .precision(Precision::Always);
  const char* blocked = "Convolution of data and filters whose channels lie in blocks.";
  conv_record<relay::Conv2DAttrs>("nn.contrib_conv2d_NCHWc", "Conv2DNCHWc", blocked, conv_type<true>)
      .support_level(10)
      .strategy_name("conv2d_NCHWc");
  conv_record<relay::Conv2DAttrs>("nn.contrib_depthwise_conv2d_NCHWc", "Conv2D", blocked, conv_type<true>)
      .support_level(10)
      .strategy_name("depthwise_conv2d_NCHWc");
  OpRecord("nn.conv2d_backward_weight")
      .doc("The gradient of a convolution by its weight.")
      .attrs<relay::Conv2DAttrs>()
      .input("grad", "the gradient of the result")
      .input("data", "the data of the convolution")
      .support_level(2)
      .type("Conv2DBackwardWeight", backward_weight_type)
      .fusion(Fusion::OutputElementwise)
      .compute(backward_weight)
      .gradient(conv_backward_weight_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily conv_family{conv_records};

}  // namespace tessera::op
