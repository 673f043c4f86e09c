#include "topi/cpu/contraction/tile_dot.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "tir/attrs.h"
#include "topi/cpu/contraction/tile_plan.h"
#include "topi/cpu/number.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {
namespace {

register_types<DotKnobsNode> dot_types;

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kMinLanes = 4, kMinSteps = 2, kMaxSide = 8;
/// Of a side that ends at run time: each smaller number of rows or columns is code of its own.
constexpr int64_t kMaxDynamicSide = 4;
/// Of such a side, for the choice of tiles: all of them divide it.
constexpr int64_t kLikelyExtent = 12;

bool divides(int64_t size, int64_t extent) { return extent == kDynamic || extent % size == 0; }

/// Tiles of `columns` of the last axis and `rows` of one before it, the pair that loads least for what it multiplies.
std::optional<DotPlan> choose(const Reduction& reduction, const Machine& machine) {
  const size_t last = reduction.axes.size() - 1;
  const DataType dtype = reduction.block->writes[0]->buffer->dtype;
  const Var& along = reduction.block->iter_vars.back()->var;
  DotPlan out;
  out.reduction = reduction;
  bool has_gather = false;
  std::vector<const BufferLoad*> loads = loads_of(reduction);
  for (const BufferLoad* load : loads) {
    std::optional<int64_t> apart = stride(load, along), across = stride(load, reduction.axes[last]);
    if (apart != 1 || !across || load->buffer->dtype != dtype) return {};
    has_gather |= *across != 0 && *across != 1;
  }
  if (!has_gather || loads.empty()) return {};
  const int64_t steps = reduction.reduce_extents.back();
  if (steps == kDynamic) return {};
  for (out.lanes = machine->vector_bytes / dtype.bytes(); out.lanes > 1 && steps % out.lanes != 0;) out.lanes /= 2;
  if (out.lanes < kMinLanes || steps / out.lanes < kMinSteps) return {};
  // rows share what varies along the last axis
  std::optional<size_t> row_axis;
  for (size_t i = 0; i < last; ++i)
    for (const BufferLoad* load : loads)
      if (reduction.extents[i] != 1 && stride(load, reduction.axes[i]) == 0 && stride(load, reduction.axes[last]) != 0)
        row_axis = i;
  const int64_t height = row_axis ? reduction.extents[*row_axis] : 1, width = reduction.extents[last];
  auto axis = [](int64_t extent) { return TileAxis{{extent == kDynamic ? kLikelyExtent : extent}, Cover::Whole}; };
  auto largest = [](int64_t extent) { return extent == kDynamic ? kMaxDynamicSide : std::min(extent, kMaxSide); };
  TileSpace space{.rows = axis(width), .vectors = axis(height)};  // both sides are alike, and fewer rows are preferred
  space.max_rows = largest(width);
  space.max_vectors = largest(height);
  space.fits = [&](const RegisterTile& tile) { return dot_registers(tile) <= machine->vector_registers; };
  space.tile_cost = [&](const RegisterTile& tile) { return step_cost(machine, tile); };
  const RegisterTile tile = cheapest_tile(space).tile;
  out.row_axis = row_axis;
  out.knobs =
      make(DotKnobsNode{.rows = static_cast<int32_t>(tile.vectors), .columns = static_cast<int32_t>(tile.rows)});
  return out;
}

/// The loops of a block that was moved: one for each dimension of what it writes, and those of its reduction.
struct Loops {
  std::vector<LoopRef> results, reduced;
};
Loops loops_by_axis(const State& state, const BlockRef& ref) {
  const BlockNode* block = state.find(ref).block();
  std::vector<LoopRef> loops = last_loops(state, ref, block->iter_vars.size());
  Loops out;
  for (const Range& range : block->writes[0]->region)
    for (size_t i = 0; i < loops.size(); ++i)
      if (range->min.same_as(block->iter_vars[i]->var)) out.results.push_back(loops[i]);
  for (size_t i = 0; i < loops.size(); ++i)
    if (block->iter_vars[i]->iter_type == IterType::CommReduce) out.reduced.push_back(loops[i]);
  ICHECK(out.results.size() == block->writes[0]->region.size()) << "each dimension of a sum is an axis";
  return out;
}

void schedule_tile(State& state, const BlockRef& block, const BlockRef& store, const DotPlan& tile) {
  const Reduction& reduction = tile.reduction;
  const size_t last = reduction.axes.size() - 1, count = reduction.axes.size();
  const bool has_rows = tile.knobs->rows > 1;
  LoopRef along = last_loops(state, block, 1)[0];
  BlockRef parts = schedule::rfactor(state, schedule::split(state, along, {PrimExpr(), number(tile.lanes)}, true)[1],
                                     static_cast<int>(count));
  // the loops of the stage that stores: columns outside of rows, so that a thread reads its part of a matrix once
  std::vector<LoopRef> outer = spatial_loops(state, store), inner;
  auto split_axis = [&](size_t axis, int64_t size) {
    auto halves = schedule::split(state, outer[axis], {PrimExpr(), number(size)}, true);
    outer[axis] = halves[0];
    inner.push_back(halves[1]);
    if (reduction.extents[axis] == kDynamic && size > 1)
      schedule::annotate(state, state.find(halves[0]), attr::kPragmaLoopPartitionHint, number(size));
  };
  if (has_rows) split_axis(*tile.row_axis, tile.knobs->rows);
  split_axis(last, tile.knobs->columns);
  if (last > 0) std::swap(outer[last], outer[last - 1]);
  std::vector<LoopRef> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  schedule::reorder(state, order);
  for (const LoopRef& loop : inner) schedule::unroll(state, loop);
  for (const BlockRef& stage : {block, parts}) {
    schedule::set_scope(state, stage, 0, "local");
    schedule::compute_at(state, stage, outer.back(), true, -1);
  }
  // partial sums: the reduction, then the tile, then the lanes
  Loops mine = loops_by_axis(state, parts);
  std::vector<LoopRef> ahead, sums;
  for (size_t i = 0; i < count; ++i)
    (i == last || (has_rows && i == *tile.row_axis) ? sums : ahead).push_back(mine.results[i]);
  order = ahead;
  order.insert(order.end(), mine.reduced.begin(), mine.reduced.end());
  order.insert(order.end(), sums.begin(), sums.end());
  order.push_back(mine.results[count]);
  schedule::reorder(state, order);
  auto mark = [&](const std::vector<LoopRef>& loops, const LoopRef& lanes) {
    for (const LoopRef& loop : loops) schedule::unroll(state, loop);
    schedule::vectorize(state, lanes);
  };
  mark(sums, mine.results[count]);
  BlockRef init = schedule::decompose_reduction(state, parts, mine.reduced[0]);
  std::vector<LoopRef> at_start = last_loops(state, init, sums.size() + 1);
  LoopRef lanes = at_start.back();
  at_start.pop_back();
  mark(at_start, lanes);
  // the sum of the lanes
  Loops total = loops_by_axis(state, block);
  for (const std::vector<LoopRef>* loops : {&total.results, &total.reduced})
    for (const LoopRef& loop : *loops) schedule::unroll(state, loop);
  if (!is_dynamic(reduction) && reduction.steps < ParallelThreshold::contraction) return;
  std::vector<LoopRef> shared = outer;  // loops that are partitioned before their remainder stay as they are
  while (shared.size() > 1 && is_dynamic(reduction) && shared.size() + 2 > outer.size()) shared.pop_back();
  share_between_threads(state, shared, reduction, ParallelThreshold::contraction);
}

}  // namespace

std::optional<DotPlan> plan_dot(const State& state, const BlockRef& block, const Machine& machine) {
  std::optional<Reduction> reduction = as_reduction(state.find(block), true);
  return reduction ? choose(*reduction, machine) : std::nullopt;
}

void tile_dot(State& state, const BlockRef& block, const DotPlan& plan) {
  const std::vector<int64_t>& extents = plan.reduction.extents;
  const int64_t rows = plan.knobs->rows, columns = plan.knobs->columns,
                height = plan.row_axis ? extents[*plan.row_axis] : 1;
  if (rows < 1 || columns < 1 || !divides(rows, height) || !divides(columns, extents.back()))
    throw Error(ScheduleError) << "a tile of " << rows << "x" << columns << " dot products does not divide the results";
  tile_with_store(state, block, plan.reduction,
                  [&](const BlockRef& store) { schedule_tile(state, block, store, plan); });
}

}  // namespace tessera::topi
