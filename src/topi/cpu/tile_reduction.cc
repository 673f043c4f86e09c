#include "topi/cpu/tile_reduction.h"

#include <algorithm>

#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kMaxRegisters = 16;       // sums of one tile: more do not hide more of an addition's latency
constexpr int64_t kPage = 4096, kWays = 4;  // bytes between cache lines of one set of L1; those that it holds of a set

/// The largest divisor of `extent` that is at most `limit`.
int64_t divisor(int64_t extent, int64_t limit) {
  int64_t out = std::min(extent, limit);
  while (extent % out != 0) --out;
  return out;
}

std::optional<ReductionPlan> choose(const Reduction& reduction, const Machine& machine) {
  const size_t last = reduction.axes.size() - 1;
  const Buffer& result = reduction.block->writes[0]->buffer;
  std::vector<const BufferLoad*> loads = loads_of(reduction);
  std::vector<bool> shares(reduction.axes.size(), false);  // a load of lanes that is the same for all of the axis
  bool has_gather = false;
  for (const BufferLoad* load : loads) {
    std::optional<int64_t> apart = stride(load, reduction.axes[last]);
    if (!apart) return {};
    if (*apart == 0) continue;
    has_gather |= *apart > 4 || *apart < -4;
    for (size_t i = 0; i < last; ++i)
      if (reduction.extents[i] > 1 && stride(load, reduction.axes[i]) == 0) shares[i] = true;
  }
  ReductionPlan out;
  out.reduction = reduction;
  const int64_t native = machine->vector_bytes * 8 / std::max(result->dtype.bits * 1, 8);
  out.lanes = divisor(reduction.extents[last], native);
  if (out.lanes * 3 < native) out.lanes = std::min(reduction.extents[last], native);  // the last ones under a guard
  if (out.lanes < 4) return {};
  int64_t most = std::min<int64_t>(kMaxRegisters, machine->vector_registers - 4);
  // an axis that shares loads of lanes; else the innermost one, for independent sums
  std::optional<size_t> row_axis;
  for (size_t i = 0; i < last; ++i)
    if (shares[i] && (!row_axis || reduction.extents[i] > reduction.extents[*row_axis])) row_axis = i;
  if (!row_axis && has_gather) return {};
  for (size_t i = last; i-- > 0 && !row_axis;)
    if (reduction.extents[i] > 1) row_axis = i;
  for (const BufferLoad* load : loads)  // rows that lie a page apart fall into the same set of a cache
    if (auto apart = row_axis ? stride(load, reduction.axes[*row_axis]) : std::nullopt; apart && *apart != 0)
      if (*apart * load->buffer->dtype.bytes() % kPage == 0) most = std::min<int64_t>(most, kWays);
  if (row_axis) out.rows = divisor(reduction.extents[*row_axis], most), out.row_axis = *row_axis;
  if (!row_axis) {  // several vectors of the last axis, for the same reason
    if (const int64_t half = native / 2;
        half >= 4 && reduction.extents[last] % native != 0 && reduction.extents[last] % half == 0)
      out.lanes = half;
    if (reduction.extents[last] % out.lanes == 0) {
      out.rows = divisor(reduction.extents[last] / out.lanes, most);
      out.row_axis = last;
    }
  }
  if (has_gather && out.rows < 4) return {};
  return out;
}

/// Finds the stage that pads what the reduction reads.
void find_padding(const State& state, const BlockRef& block, ReductionPlan* plan) {
  const Reduction& reduction = plan->reduction;
  std::vector<const BufferLoad*> loads = loads_of(reduction);
  if (loads.size() != 1) return;
  for (const BlockRef& producer : schedule::get_producers(state, block)) {
    schedule::Cursor cursor = state.find(producer);
    if (!is_spatial(cursor) || is_scheduled(cursor) || cursor.loops().size() != reduction.axes.size() ||
        schedule::get_consumers(state, producer).size() != 1)
      continue;
    plan->padded = producer;
    size_t& shared = plan->padded_axes;
    while (shared + 1 < reduction.axes.size() && loads[0]->indices[shared].same_as(reduction.axes[shared])) ++shared;
    return;
  }
}

/// Padding inside the loop that threads share: what is padded is still in the cache when it is read.
bool attach_padding(State& state, const ReductionPlan& plan, const std::vector<LoopRef>& outer) {
  if (!plan.padded.key || plan.padded_axes == 0) return false;
  std::vector<LoopRef> first(outer.begin(), outer.begin() + static_cast<long>(plan.padded_axes));
  if (known_extent(state, first) == 1) return false;  // threads would have nothing to share
  LoopRef shared = first.size() == 1 ? first[0] : schedule::fuse(state, first, true);
  schedule::parallel(state, shared);
  schedule::compute_at(state, plan.padded, shared, true, -1);
  LoopRef along = last_loops(state, plan.padded, 1)[0];
  if (extent_of(state, along) > plan.lanes)
    along = schedule::split(state, along, {PrimExpr(), number(plan.lanes)}, true)[1];
  schedule::vectorize(state, along);
  return true;
}

void schedule_tile(State& state, const BlockRef& block, const BlockRef& store, const ReductionPlan& tile) {
  const Reduction& reduction = tile.reduction;
  const size_t last = reduction.axes.size() - 1, count = reduction.axes.size();
  const bool has_rows = tile.rows > 1;
  // the loops of the stage that stores: outer ones over tiles, then those of a tile
  std::vector<LoopRef> outer = spatial_loops(state, store), order;
  LoopRef rows, lanes;
  auto split_axis = [&](size_t axis, int64_t size) {
    auto parts = schedule::split(state, outer[axis], {PrimExpr(), number(size)}, true);
    outer[axis] = parts[0];
    return parts[1];
  };
  lanes = split_axis(last, tile.lanes);
  if (has_rows) rows = split_axis(tile.row_axis, tile.rows);
  order = outer;
  if (has_rows) order.push_back(rows);
  order.push_back(lanes);
  schedule::reorder(state, order);
  schedule::set_scope(state, block, 0, "local");
  schedule::compute_at(state, block, outer.back(), true, -1);
  schedule::vectorize(state, lanes);
  if (has_rows) schedule::unroll(state, rows);
  // the loops of the reduction: its axes, then the tile
  std::vector<LoopRef> mine = last_loops(state, block, count + reduction.reduce_axes);
  order.clear();
  for (size_t i = 0; i < mine.size(); ++i)
    if (i != last && !(has_rows && i == tile.row_axis)) order.push_back(mine[i]);
  LoopRef my_rows = has_rows ? mine[tile.row_axis] : LoopRef(), my_lanes = mine[last];
  if (has_rows && tile.row_axis == last) {
    auto parts = schedule::split(state, mine[last], {PrimExpr(), number(tile.lanes)}, true);
    my_rows = parts[0], my_lanes = parts[1];
  }
  if (has_rows) order.push_back(my_rows);
  order.push_back(my_lanes);
  schedule::reorder(state, order);
  schedule::vectorize(state, my_lanes);
  if (has_rows) schedule::unroll(state, my_rows);
  BlockRef init = schedule::decompose_reduction(state, block, mine[count]);
  std::vector<LoopRef> at_start = last_loops(state, init, has_rows ? 2 : 1);
  schedule::vectorize(state, at_start.back());
  if (has_rows) schedule::unroll(state, at_start[0]);
  if (reduction.steps < ParallelThreshold::reduced || attach_padding(state, tile, outer)) return;
  if (outer.size() > 1) outer.pop_back();
  schedule::parallel(state, outer.size() == 1 ? outer[0] : schedule::fuse(state, outer, true));
}

}  // namespace

std::optional<ReductionPlan> plan_reduction(const State& state, const BlockRef& block, const Machine& machine) {
  std::optional<Reduction> reduction = as_reduction(state.find(block));
  std::optional<ReductionPlan> plan = reduction ? choose(*reduction, machine) : std::nullopt;
  if (plan) find_padding(state, block, &*plan);
  return plan;
}

void tile_reduction(State& state, const BlockRef& block, const ReductionPlan& plan) {
  tile_with_store(state, block, plan.reduction,
                  [&](const BlockRef& store) { schedule_tile(state, block, store, plan); });
}

}  // namespace tessera::topi
