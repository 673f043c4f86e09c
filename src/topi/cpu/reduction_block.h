#pragma once
// What rules have to know of a reduction before they tile it.

#include <functional>
#include <optional>

#include "topi/block_rule.h"

namespace tessera::topi {

/// A reduction whose axes are loops, results first, and which writes one buffer in that order.
struct Reduction {
  const BlockNode* block = nullptr;
  std::vector<Var> axes;         // of the results
  std::vector<int64_t> extents;  // kDynamic for those that are known only at run time
  int64_t steps = 1;             // of all loops; a dynamic one counts as one step
  size_t reduce_axes = 0;
  std::vector<int64_t> reduce_extents;
};
inline constexpr int64_t kDynamic = -1;
/// Nothing where the block is not of that form or has been scheduled. Extents may be dynamic where that is asked for,
/// but none may depend on an outer loop, as those of adaptive pools do.
std::optional<Reduction> as_reduction(const schedule::Cursor& cursor, bool may_be_dynamic = false);
bool is_dynamic(const Reduction& reduction);

/// What the reduction reads beside its own sums.
std::vector<const BufferLoad*> loads_of(const Reduction& reduction);

/// How far apart in memory elements of neighbouring `axis` are.
PrimExpr stride_of(const Buffer& buffer, const Array<PrimExpr>& indices, const Var& axis);
/// The same as a number; nothing where it is none.
std::optional<int64_t> stride(const Buffer& buffer, const Array<PrimExpr>& indices, const Var& axis);
inline std::optional<int64_t> stride(const BufferLoad* load, const Var& axis) {
  return stride(load->buffer, load->indices, axis);
}

/// The element-wise epilogue of the reduction: its only consumer, in the same order; empty when there is none.
schedule::BlockRef epilogue_of(const schedule::State& state, const schedule::BlockRef& block,
                               const Reduction& reduction);

/// Tiles a reduction by `tile`, given the stage that stores the tiles: the epilogue of the reduction, or else a copy of its
/// results. A ScheduleError, with the program as it was, when neither lets itself be scheduled so.
void tile_with_store(schedule::State& state, const schedule::BlockRef& block, const Reduction& reduction,
                     const std::function<void(const schedule::BlockRef& store)>& tile);

/// Shares the iterations of loops of the reduction, from the outside, between threads, as one loop, which is returned. Where
/// extents are dynamic it is seen at run time whether there are enough iterations for `least_steps` of the reduction.
schedule::LoopRef share_between_threads(schedule::State& state, const std::vector<schedule::LoopRef>& loops,
                                        const Reduction& reduction, int64_t least_steps);

/// The innermost `count` loops around a block, from the outside.
std::vector<schedule::LoopRef> last_loops(const schedule::State& state, const schedule::BlockRef& block, size_t count);

}  // namespace tessera::topi
