#pragma once
// In which blocks the channels of convolutions lie on a CPU. All convolutions of a graph choose by the number of
// channels alone; so a result already lies as the next one reads it.

#include <algorithm>

#include "ir/prim/ops.h"
#include "relay/expr.h"
#include "tir/layout.h"

namespace tessera::op {

using relay::Expr;

inline constexpr int64_t kMinLanes = 4;  // of a result: fewer are no vector

/// The largest power of two times `kMinLanes` that divides the channels and fits a register; 0 where there is none.
inline int64_t result_block(int64_t channels, int64_t lanes) {
  for (int64_t block = lanes; block >= kMinLanes; block /= 2)
    if (channels % block == 0) return block;
  return 0;
}

/// Data only has to be read one channel after the other: where channels fill no vector they stay as they lie, channel by
/// channel, or all of them together where they are the last dimension.
inline int64_t data_block(int64_t channels, int64_t lanes, bool are_last = false) {
  if (int64_t block = result_block(channels, lanes)) return block;
  return are_last ? channels : 1;
}

/// True where an extent is known and not 0.
inline bool is_fixed(const PrimExpr& extent) { return as_int(extent) && *as_int(extent) >= 1; }
inline bool is_fixed(const Array<PrimExpr>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const PrimExpr& extent) { return is_fixed(extent); });
}
/// True for data of so many channels, whatever its other extents are at run time.
inline bool has_fixed_channels(const Layout& layout, const Array<PrimExpr>& shape) {
  for (size_t i = 0; i < layout->axes.size(); ++i)
    if ((as_int(shape[i]) || layout->letter(i) == 'C') && !is_fixed(shape[i])) return false;
  return true;
}

/// Blocks for a convolution in groups.
struct GroupBlocks {
  int64_t in = 0, out = 0;  // of data and result; 0: there are none
  int64_t weight = 0;       // of the weight's in channels
};

/// Blocks inside a group, of the weight at least: data is read channel by channel wherever a group begins in its blocks. Or, where a
/// group has as many channels in as out and fewer than a vector, blocks of whole groups.
inline GroupBlocks group_blocks(int64_t ins, int64_t outs, int64_t groups, int64_t lanes) {
  const int64_t group_ins = ins / groups, group_outs = outs / groups;
  const int64_t in = data_block(ins, lanes), out = result_block(outs, lanes);
  if (group_ins == group_outs && group_outs >= kMinLanes && in == out && out > group_outs && out % group_outs == 0)
    return {in, out, group_ins};
  const int64_t inner_out = result_block(group_outs, lanes);
  if (inner_out == 0) return {};
  const int64_t inner_in = group_ins % in == 0 ? in : data_block(group_ins, lanes);
  return {inner_in >= kMinLanes ? in : inner_in, inner_out, inner_in};
}

}  // namespace tessera::op
