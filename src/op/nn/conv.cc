// nn.conv1d, nn.conv2d, nn.conv3d.

#include "relay/attrs/conv.h"
#include "ir/prim_ops.h"
#include "op/records.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

using relay::ConvAttrs;
using relay::may_equal;

/// The weight (out channels, in channels / groups, taps...) that the attributes describe; empty when they do not.
Array<PrimExpr> described_weight(const ConvAttrs* attrs, const PrimExpr& in_channels) {
  if (!attrs->channels || !attrs->kernel_size.defined()) return nullptr;
  PrimExpr groups = PrimExpr(attrs->groups);
  Array<PrimExpr> out{attrs->channels, relay::is_any(in_channels) ? in_channels : floordiv(in_channels, groups)};
  for (const PrimExpr& taps : attrs->kernel_size) out.push_back(taps);
  return out;
}

/// data and weight in their layouts -> the result in its own. A weight of unknown type gets it from the attributes.
bool conv_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = cast_or_null<ConvAttrs>(query.attrs().get());
  if (!attrs) throw Error(TypeError) << "the call has no attributes of a convolution";
  const size_t spatial = attrs->strides.size();
  Layout plain = make_layout(topi::plain_data_layout(spatial));
  Layout plain_kernel = make_layout(topi::plain_kernel_layout(spatial));
  Layout in = make_layout(attrs->data_layout), kernel = make_layout(attrs->kernel_layout);
  Layout out = attrs->out_layout.empty() ? in : make_layout(attrs->out_layout);
  if (data->shape.size() != in->axes.size())
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", but its layout is " << attrs->data_layout;
  if (attrs->groups < 1) throw Error(TypeError) << "groups is " << attrs->groups << ", but must be at least 1";
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape), taps = described_weight(attrs, shape[1]);

  if (auto* weight = query.tensor(1)) {
    if (weight->shape.size() != kernel->axes.size())
      throw Error(TypeError) << "weight is " << to_text(query.type(1)) << ", but its layout is "
                             << attrs->kernel_layout;
    Array<PrimExpr> given = convert_shape(kernel, plain_kernel, weight->shape);
    if (!may_equal(given[1] * attrs->groups, shape[1]))
      throw Error(TypeError) << "data has " << shape[1] << " channels, but weight takes " << given[1] << " in "
                             << attrs->groups << (attrs->groups == 1 ? " group" : " groups");
    for (size_t i = 0; taps.defined() && i < taps.size(); ++i)
      if (!may_equal(taps[i], given[i]))
        throw Error(TypeError) << "channels and kernel_size describe a weight of shape " << to_text(taps)
                               << " (out, in, taps), but it is " << to_text(given);
    if (attrs->channels && !may_equal(attrs->channels, given[0]))
      throw Error(TypeError) << "channels is " << attrs->channels << ", but weight gives " << given[0];
    taps = given;
  } else if (taps.defined()) {
    query.argument(1, TensorType(convert_shape(plain_kernel, kernel, taps), data->dtype));
  } else {
    return false;
  }

  Array<PrimExpr> padding = topi::full_padding(attrs->padding, spatial);
  Array<PrimExpr> result{shape[0], taps[0]};
  for (size_t i = 0; i < spatial; ++i) {
    PrimExpr extent = relay::is_any(shape[2 + i]) ? shape[2 + i] : shape[2 + i] + padding[i] + padding[i + spatial];
    result.push_back(topi::window_count(extent, taps[2 + i], attrs->dilation[i], attrs->strides[i]));
    if (const int64_t* count = as_int(result.back()); count && *count < 1)
      throw Error(TypeError) << "the window of " << taps[2 + i] << " taps does not fit into " << extent << " elements";
  }
  DataType dtype = attrs->out_dtype.is_void() ? data->dtype : attrs->out_dtype;
  query.result(TensorType(convert_shape(plain, out, result), dtype));
  return true;
}

Array<te::Tensor> conv_compute(const Attrs& given, const Array<te::Tensor>& in, const Type& out) {
  auto* attrs = static_cast<const ConvAttrs*>(given.get());
  topi::ConvOptions options;
  options.strides = attrs->strides;
  options.padding = attrs->padding;
  options.dilation = attrs->dilation;
  options.groups = attrs->groups;
  options.data_layout = attrs->data_layout;
  options.kernel_layout = attrs->kernel_layout;
  options.out_layout = attrs->out_layout;
  options.out_dtype = out.as<TensorTypeNode>()->dtype;
  return {topi::conv(in[0], in[1], options)};
}

template <class A>
void conv_record(const char* name, const char* type_name, const char* doc) {
  OpRecord(name)
      .doc(doc)
      .template attrs<A>()
      .input("data", "the input, in data_layout")
      .input("weight", "the filters, in kernel_layout")
      .support_level(2)
      .type(type_name, conv_type)
      .fusion(Fusion::OutputElementwise)
      .compute(conv_compute);
}

}  // namespace

void conv_records() {
  conv_record<relay::Conv1DAttrs>("nn.conv1d", "Conv1D", "Convolution over one spatial dimension.");
  conv_record<relay::Conv2DAttrs>("nn.conv2d", "Conv2D", "Convolution over two spatial dimensions.");
  conv_record<relay::Conv3DAttrs>("nn.conv3d", "Conv3D", "Convolution over three spatial dimensions.");
}

}  // namespace tessera::op
