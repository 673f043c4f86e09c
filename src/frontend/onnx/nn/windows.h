#pragma once
// Windows as the attributes of a node say them.

#include "frontend/common/integer_contractions.h"
#include "frontend/common/windows.h"
#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// Begins, then ends, for `auto_pad` too. Where those depend on extents that a run decides, `data` gets a border of `value`
/// instead, and they are 0; without `data` that is an error.
Ints padding_of(Operation& in, const Ints& kernel, const Ints& strides, const Ints& dilations, Expr* data = nullptr,
                double value = 0);

/// Rejects windows that cannot be: kernels, strides and dilations have one number of at least 1 for each of `spatial`
/// dimensions, paddings have two for each. What the node leaves out is fine.
void check_windows(const Operation& in, size_t spatial);

/// For data of the shape of the first input and such a weight; `data` as in `padding_of`.
ConvWindows conv_windows(Operation& in, const Expr& filters, Expr* data = nullptr);
inline Expr convolution(Operation& in, Expr data, const Expr& filters) {
  ConvWindows windows = conv_windows(in, filters, &data);
  return frontend::convolution(in, data, filters, windows);
}
inline Expr integer_convolution(Operation& in, const Integers& data, const Integers& filters) {
  return frontend::integer_convolution(in, data, filters, conv_windows(in, filters.data));
}

/// Inputs `data` and `zero` of the node.
inline Integers integers(Operation& in, size_t data, size_t zero) {
  return frontend::integers(in, in[data], in.has(zero) ? in[zero] : Expr());
}

}  // namespace tessera::onnx
