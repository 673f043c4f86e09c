#pragma once
// Convolutions over one, two or three spatial dimensions, in any layout.

#include "te/tensor.h"

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

/// The extent of a window's result: how often a window of `kernel` taps, `dilation` apart, fits into `extent`
/// (padding included) at steps of `stride`. Any stays Any.
PrimExpr window_count(const PrimExpr& extent, const PrimExpr& kernel, const PrimExpr& dilation, const PrimExpr& stride,
                      bool rounds_up = false);

/// Four paddings from the one, two or four that users write (2, 3 or 6 values for other numbers of dimensions).
Array<PrimExpr> full_padding(const Array<PrimExpr>& padding, size_t spatial);

te::Tensor conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options);

}  // namespace tessera::topi
