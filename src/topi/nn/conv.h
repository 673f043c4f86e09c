#pragma once
// Convolutions over one, two or three spatial dimensions, in any layout.

#include "te/tensor.h"
#include "tir/layout.h"

namespace tessera::topi {

struct ConvOptions {
  Array<PrimExpr> strides, padding, dilation;  // padding: all begins, then all ends
  int64_t groups = 1;
  String data_layout, kernel_layout, out_layout;
  DataType out_dtype;
};

/// "NCW", "NCHW" or "NCDHW", and "OIW", "OIHW" or "OIDHW", for that many spatial dimensions.
String plain_data_layout(size_t spatial);
String plain_kernel_layout(size_t spatial);
/// The layout of a transposed convolution's weight (in channels, out channels / groups, kernel...). Only with two
/// dimensions do its letters say so: "OIW", "IOHW", "OIDHW".
String plain_transposed_kernel_layout(size_t spatial);

/// The extent of a window's result: how often a window of `kernel` elements, `dilation` apart, fits into `extent`
/// (padding included) at steps of `stride`. Any stays Any.
PrimExpr window_count(const PrimExpr& extent, const PrimExpr& kernel, const PrimExpr& dilation, const PrimExpr& stride,
                      bool rounds_up = false);
/// The other way round: the extent over which `count` windows spread, less the padding.
PrimExpr spread_extent(const PrimExpr& count, const PrimExpr& kernel, const PrimExpr& dilation, const PrimExpr& stride,
                       const PrimExpr& padding);

/// Four paddings from the one, two or four that users write (2, 3 or 6 values for other numbers of dimensions).
Array<PrimExpr> full_padding(const Array<PrimExpr>& padding, size_t spatial);

/// A weight (channels, multiplier, kernel...) that makes `multiplier` channels of each one, told from its shape: groups,
/// channels of the data and first extent are equal. Any other weight is (out channels, in channels / groups, kernel...).
bool is_depthwise(int64_t groups, const PrimExpr& in_channels, const Array<PrimExpr>& weight);

te::Tensor conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options);

/// Each element of the data spreads over a window of the result. `output_padding` adds to the ends of the result.
te::Tensor conv_transpose(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                          const Array<PrimExpr>& output_padding);

/// The gradient of a convolution by its weight, whose kernel is of `kernel_size`. Layouts are those of the convolution
/// itself; `grad` is in its out_layout.
te::Tensor conv_backward_weight(const te::Tensor& grad, const te::Tensor& data, const Array<PrimExpr>& kernel_size,
                                const ConvOptions& options);

}  // namespace tessera::topi
