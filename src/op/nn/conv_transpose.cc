// Transposed convolutions: nn.conv1d_transpose, conv2d_transpose, conv3d_transpose.

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/nn/conv.h"
#include "op/nn/gradients.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"

namespace tessera::op {
namespace {

using relay::ConvTransposeAttrs;
using relay::may_equal;

const ConvTransposeAttrs* transpose_attrs(const Attrs& attrs) {
  auto* out = cast_or_null<ConvTransposeAttrs>(attrs.get());
  if (!out) throw Error(TypeError) << "the call has no attributes of a transposed convolution";
  if (out->groups < 1) throw Error(TypeError) << "groups is " << out->groups << ", but must be at least 1";
  return out;
}

/// The weight as (in, out / groups, kernel size...): given, or described by the attributes; empty when neither says it.
Array<PrimExpr> weight_shape(TypeQuery& query, const ConvTransposeAttrs* attrs, const PrimExpr& in_channels) {
  const size_t spatial = attrs->strides.size();
  Layout kernel = make_layout(attrs->kernel_layout);
  Layout plain = make_layout(topi::plain_transposed_kernel_layout(spatial));
  Array<PrimExpr> described = nullptr;
  if (attrs->channels && attrs->kernel_size.defined()) {
    described = {in_channels, floordiv(attrs->channels, attrs->groups)};
    for (const PrimExpr& size : attrs->kernel_size) described.push_back(size);
  }
  if (!query.tensor(1)) {
    if (described.defined())
      query.argument(1, TensorType(convert_shape(plain, kernel, described), query.tensor(0)->dtype));
    return described;
  }
  check_rank(query, 1, "weight", attrs->kernel_layout);
  Array<PrimExpr> given = convert_shape(kernel, plain, query.tensor(1)->shape);
  if (!may_equal(given[0], in_channels))
    throw Error(TypeError) << "data has " << in_channels << " channels, but weight takes " << given[0]
                           << ": its shape as (in, out / groups, kernel size...) is " << to_text(given);
  if (attrs->channels && !may_equal(attrs->channels, given[1] * attrs->groups))
    throw Error(TypeError) << "channels is " << attrs->channels << ", but weight gives " << given[1] << " in each of "
                           << attrs->groups << " groups";
  for (size_t i = 0; described.defined() && i < described.size(); ++i)
    if (!may_equal(described[i], given[i]))
      throw Error(TypeError) << "channels and kernel_size describe a weight of shape " << to_text(described)
                             << " (in, out / groups, kernel size), but it is " << to_text(given);
  return given;
}

bool conv_transpose_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = transpose_attrs(query.attrs());
  const size_t spatial = attrs->strides.size();
  Layout plain = make_layout(topi::plain_data_layout(spatial)), in = make_layout(attrs->data_layout);
  Layout out = attrs->out_layout.empty() ? in : make_layout(attrs->out_layout);
  check_rank(query, 0, "data", attrs->data_layout);
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape);
  Array<PrimExpr> weight = weight_shape(query, attrs, shape[1]);
  if (!weight.defined()) return false;

  Array<PrimExpr> padding = topi::full_padding(attrs->padding, spatial);
  Array<PrimExpr> result{shape[0], weight[1] * attrs->groups};
  for (size_t i = 0; i < spatial; ++i) {
    result.push_back(topi::spread_extent(shape[2 + i], weight[2 + i], attrs->dilation[i], attrs->strides[i],
                                         padding[i] + padding[i + spatial] - attrs->output_padding[i]));
  }
  DataType dtype = attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype;
  query.result(TensorType(convert_shape(plain, out, result), dtype));
  return true;
}

/// What is added behind is less than a step between the elements of data, or of the kernel.
static void check_output_padding(const ConvTransposeAttrs* attrs) {
  for (size_t i = 0; i < attrs->strides.size(); ++i) {
    const int64_t *more = as_int(attrs->output_padding[i]), *stride = as_int(attrs->strides[i]);
    const int64_t* dilation = as_int(attrs->dilation[i]);
    if (more && stride && dilation && *more >= std::max(*stride, *dilation) && *more > 0)
      throw Error(TypeError) << "output_padding " << *more << " must be smaller than the stride " << *stride
                             << " or the dilation " << *dilation;
  }
}

Array<te::Tensor> conv_transpose(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = transpose_attrs(given);
  check_output_padding(attrs);
  topi::ConvOptions options = conv_options(attrs, out.as<TensorTypeNode>()->dtype);
  return {topi::conv_transpose(in[0], in[1], options, attrs->output_padding)};
}

template <class A>
void transpose_record(const char* name, const char* rule_name, relay::Legalize legalize) {
  OpRecord(name)
      .doc("Transposed convolution: each element of the data spreads over a window of the result.")
      .template attrs<A>()
      .input("data", "the input, in data_layout")
      .input("weight", "the filters, in kernel_layout")
      .support_level(2)
      .type(rule_name, conv_transpose_type)
      .fusion(Fusion::OutputElementwise)
      .layout(layout::conv_transpose)
      .convert_layout(layout::convert_conv<relay::ConvTransposeAttrs>)
      .alter_layout(layout::block_transposed)
      .legalize(legalize)
      .precision(Precision::Always)
      .compute(conv_transpose)
      .gradient(conv_transpose_gradient);
}

}  // namespace

static void conv_transpose_records() {
  transpose_record<relay::Conv1DTransposeAttrs>("nn.conv1d_transpose", "Conv1DTranspose",
                                                layout::pad_channels_transposed<'I'>);
  transpose_record<relay::Conv2DTransposeAttrs>("nn.conv2d_transpose", "Conv2DTranspose",
                                                layout::pad_channels_transposed<'O'>);
  transpose_record<relay::Conv3DTransposeAttrs>("nn.conv3d_transpose", "Conv3DTranspose",
                                                layout::pad_channels_transposed<'I'>);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily conv_transpose_family{conv_transpose_records};

}  // namespace tessera::op
