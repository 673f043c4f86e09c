#pragma once
// Windows that slide over the spatial dimensions of a tensor (batch, channels, ...).

#include "frontend/common/node_context.h"

namespace tessera::frontend {

inline constexpr const char* kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};

/// The number of elements that a window reaches over.
inline int64_t dilated(int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; }
/// Begins, then ends, with which there are as many windows as strides fit the extents. An odd element of padding lies behind the
/// data, or in front of it with `more_before`.
Ints same_padding(const Ints& extents, const Ints& kernel, const Ints& strides, const Ints& dilations,
                  bool more_before);

/// The windows of a convolution.
struct ConvWindows {
  Ints kernel, strides, dilations, padding;  // of each spatial dimension; padding: begins, then ends
  int64_t groups = 1;

  size_t spatial() const { return kernel.size(); }
};
/// Sums are of `out_dtype`; without one they are of the type of the data.
Expr convolution(const NodeContext& in, const Expr& data, const Expr& filters, const ConvWindows& windows,
                 DataType out_dtype = DataType::Void());

/// The windows of a pool. With fixed extents, windows that reach beyond the end are made by more padding.
struct PoolWindows {
  Ints kernel, strides, dilations, padding, given;  // given: the padding that the node asks for
  Ints extents, counts;                             // of the data and the result; empty where dynamic
  bool rounds_up = false;
  size_t spatial() const { return kernel.size(); }
};
/// `padding` as the node has it; `extents` are the data's spatial ones, empty where dynamic.
PoolWindows pool_windows(const NodeContext& in, Ints kernel, Ints strides, Ints dilations, Ints padding, bool rounds_up,
                         Ints extents);
Expr max_pool(Expr x, const PoolWindows& pool);
Expr average_pool(Expr x, const PoolWindows& pool, bool counts_padding);

}  // namespace tessera::frontend
