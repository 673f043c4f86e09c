#pragma once
// Windows that slide over the spatial dimensions of a tensor (batch, channels, ...).

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

inline constexpr const char* kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};

/// Begins, then ends, for `auto_pad` too.
Ints padding_of(Operation& in, const Ints& kernel, const Ints& strides, const Ints& dilations);

/// Refuses windows that cannot be: kernels, strides and dilations have one number of at least 1 for each of `spatial`
/// dimensions, paddings have two for each. What the node leaves out is fine.
void check_windows(const Operation& in, size_t spatial);

/// The windows of a convolution.
struct ConvWindows {
  Ints kernel, strides, dilations, padding;  // of each spatial dimension; padding: begins, then ends
  int64_t groups = 1;

  size_t spatial() const { return kernel.size(); }
};
/// As the node's attributes say, for data of the shape of its first input and such a weight.
ConvWindows conv_windows(Operation& in, const Expr& filters);

/// Sums are of `out_dtype`; without one they are of the type of the data.
Expr convolution(Operation& in, const Expr& data, const Expr& filters, const ConvWindows& windows,
                 DataType out_dtype = DataType::Void());
inline Expr convolution(Operation& in, const Expr& data, const Expr& filters) {
  return convolution(in, data, filters, conv_windows(in, filters));
}

}  // namespace tessera::onnx
