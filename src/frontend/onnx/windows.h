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

/// A convolution as the node's attributes say, of data of the shape of its first input.
Expr convolution(Operation& in, const Expr& data, const Expr& filters);

}  // namespace tessera::onnx
