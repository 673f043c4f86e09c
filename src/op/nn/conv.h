#pragma once
// What the records of convolutions share.

#include "relay/type/rule.h"
#include "topi/nn/conv.h"

namespace tessera::op {

struct ConvWindow {
  Array<PrimExpr> strides, padding, dilation;
};

/// How many windows of `kernel_size` fit into each spatial extent of `shape` (n, c, ...); a TypeError where none does.
Array<PrimExpr> spatial_windows(const Array<PrimExpr>& shape, const Array<PrimExpr>& kernel_size,
                                const ConvWindow& window);

/// A TypeError where the weight (out, in / groups, kernel size...) is not what attributes and data say; an empty extent says
/// nothing.
void check_described_weight(const Array<PrimExpr>& described, const Array<PrimExpr>& given);

/// The type rule of convolutions whose weight lies in a way of its own: attributes say what it is.
bool described_conv_type(relay::TypeQuery& query);
/// Strides, padding, layouts and the like, of convolutions, transposed and deformable ones.
template <class A>
topi::ConvOptions conv_options(const A* attrs, DataType out_dtype) {
  topi::ConvOptions options;
  options.strides = attrs->strides;
  options.padding = attrs->padding;
  options.dilation = attrs->dilation;
  options.groups = attrs->groups;
  options.data_layout = attrs->data_layout;
  options.kernel_layout = attrs->kernel_layout;
  options.out_layout = attrs->out_layout;
  options.out_dtype = out_dtype;
  return options;
}
topi::ConvOptions conv_options(const Attrs& attrs, DataType out_dtype);

/// Convolutions with weights that Winograd's transforms made, of `spatial` dimensions, along the axes that their attributes name: the type
/// of such a weight, and how both are computed.
bool winograd_weight_type(relay::TypeQuery& query, size_t spatial);
Array<te::Tensor> winograd_weight_compute(const Attrs& attrs, const Array<te::Tensor>& in);
Array<te::Tensor> winograd_conv_compute(const Attrs& attrs, const Array<te::Tensor>& in, const Type& out);

}  // namespace tessera::op
