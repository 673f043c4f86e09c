#pragma once
// Windows that slide over the spatial dimensions of a tensor (batch, channels, ...).

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

inline constexpr const char* kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};

/// Begins, then ends, for `auto_pad` too.
std::vector<int64_t> padding_of(Operation& in, const std::vector<int64_t>& kernel, const std::vector<int64_t>& strides,
                                const std::vector<int64_t>& dilations);

/// A convolution as the node's attributes say, of data of the shape of its first input.
Expr convolution(Operation& in, const Expr& data, const Expr& filters);

}  // namespace tessera::onnx
