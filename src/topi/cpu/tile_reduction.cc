#include "topi/cpu/tile_reduction.h"

#include <algorithm>

#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {
namespace {

register_types<ReductionKnobsNode> reduction_types;

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kMaxRegisters = 16;       // sums of one tile: more do not hide more of an addition's latency
constexpr int64_t kPage = 4096, kWays = 4;  // bytes between cache lines of one set of L1; those that it holds of a set

constexpr int64_t kMaxLanes = 64;

/// The largest divisor of `extent` that is at most `limit`.
int64_t divisor(int64_t extent, int64_t limit) {
  int64_t out = std::min(extent, limit);
  while (extent % out != 0) --out;
  return out;
}

/// As many sums side by side, of `extent`, as cost least each.
int32_t cheapest_rows(const Machine& machine, int64_t extent, int64_t most) {
  int64_t best = 1;
  Cheapest cheapest;
  for (int64_t rows = 1; rows <= std::min(extent, most); ++rows)
    if (extent % rows == 0 && cheapest.is_better(step_cost(machine, {rows, 1}) / static_cast<double>(rows)))
      best = rows;
  return static_cast<int32_t>(best);
}

ReductionKnobs choose(const Reduction& reduction, const Machine& machine) {
  const size_t last = reduction.axes.size() - 1;
  const Buffer& result = reduction.block->writes[0]->buffer;
  std::vector<const BufferLoad*> loads = loads_of(reduction);
  std::vector<bool> shares(reduction.axes.size(), false);  // a load of lanes that is the same for all of the axis
  bool has_gather = false;
  for (const BufferLoad* load : loads) {
    std::optional<int64_t> apart = stride(load, reduction.axes[last]);
    if (!apart) return nullptr;
    if (*apart == 0) continue;
    has_gather |= *apart > 4 || *apart < -4;
    for (size_t i = 0; i < last; ++i)
      if (reduction.extents[i] > 1 && stride(load, reduction.axes[i]) == 0) shares[i] = true;
  }
  const int64_t native = machine->vector_bytes * 8 / std::max(result->dtype.bits * 1, 8);
  const bool is_open = reduction.extents[last] == kDynamic;
  int64_t lanes = is_open ? native : divisor(reduction.extents[last], native);
  if (lanes * 3 < native) lanes = std::min(reduction.extents[last], native);  // the last ones under a guard
  if (lanes < 4) return nullptr;
  int64_t most = std::min<int64_t>(kMaxRegisters, machine->vector_registers - 4);
  // an axis that shares loads of lanes; else the innermost one, for independent sums
  std::optional<size_t> row_axis;
  for (size_t i = 0; i < last; ++i)
    if (shares[i] && (!row_axis || reduction.extents[i] > reduction.extents[*row_axis])) row_axis = i;
  if (!row_axis && has_gather) return nullptr;
  for (size_t i = last; i-- > 0 && !row_axis;)
    if (reduction.extents[i] > 1) row_axis = i;
  for (const BufferLoad* load : loads)  // rows that lie a page apart fall into the same set of a cache
    if (auto apart = row_axis ? stride(load, reduction.axes[*row_axis]) : std::nullopt; apart && *apart != 0)
      if (*apart * load->buffer->dtype.bytes() % kPage == 0) most = std::min<int64_t>(most, kWays);
  ReductionKnobsNode out;
  if (row_axis) {
    out.rows = cheapest_rows(machine, reduction.extents[*row_axis], most);
    out.row_axis = static_cast<int32_t>(*row_axis);
  } else if (!is_open) {  // several vectors of the last axis, for the same reason
    if (const int64_t half = native / 2;
        half >= 4 && reduction.extents[last] % native != 0 && reduction.extents[last] % half == 0)
      lanes = half;
    if (reduction.extents[last] % lanes == 0) {
      out.rows = cheapest_rows(machine, reduction.extents[last] / lanes, most);
      out.row_axis = static_cast<int32_t>(last);
    }
  }
  if (has_gather && out.rows < 4) return nullptr;
  out.lanes = static_cast<int32_t>(lanes);
  out.is_parallel = is_dynamic(reduction) || reduction.steps >= ParallelThreshold::reduced;
  return make(std::move(out));
}

/// A ScheduleError where knobs do not fit the reduction.
void check_knobs(const ReductionPlan& plan) {
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the tile of a reduction does not fit it: " << what;
  };
  const ReductionKnobs& knobs = plan.knobs;
  const std::vector<int64_t>& extents = plan.reduction.extents;
  require(std::min(knobs->lanes, knobs->rows) >= 1, "all sizes are at least 1");
  const int64_t most = extents.back() == kDynamic ? kMaxLanes : extents.back();
  require(knobs->lanes <= std::min(most, kMaxLanes), "a vector has more lanes than there are results");
  require(knobs->row_axis >= 0 && static_cast<size_t>(knobs->row_axis) < extents.size(), "it has no such axis");
  const bool is_last = static_cast<size_t>(knobs->row_axis) + 1 == extents.size();
  const int64_t size = is_last ? int64_t{knobs->rows} * knobs->lanes : knobs->rows;
  require(knobs->rows == 1 || extents[static_cast<size_t>(knobs->row_axis)] % size == 0,
          "rows are a divisor of those there are");
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
  if (extent_of(state, along) > plan.knobs->lanes)
    along = schedule::split(state, along, {PrimExpr(), number(plan.knobs->lanes)}, true)[1];
  schedule::vectorize(state, along);
  return true;
}

void schedule_tile(State& state, const BlockRef& block, const BlockRef& store, const ReductionPlan& tile) {
  const Reduction& reduction = tile.reduction;
  const size_t last = reduction.axes.size() - 1, count = reduction.axes.size();
  const bool has_rows = tile.knobs->rows > 1;
  const auto row_axis = static_cast<size_t>(tile.knobs->row_axis);
  // the loops of the stage that stores: outer ones over tiles, then those of a tile
  std::vector<LoopRef> outer = spatial_loops(state, store), order;
  LoopRef rows, lanes;
  auto split_axis = [&](size_t axis, int64_t size) {
    auto parts = schedule::split(state, outer[axis], {PrimExpr(), number(size)}, true);
    outer[axis] = parts[0];
    return parts[1];
  };
  lanes = split_axis(last, tile.knobs->lanes);
  if (has_rows) rows = split_axis(row_axis, tile.knobs->rows);
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
    if (i != last && !(has_rows && i == row_axis)) order.push_back(mine[i]);
  LoopRef my_rows = has_rows ? mine[row_axis] : LoopRef(), my_lanes = mine[last];
  if (has_rows && row_axis == last) {
    auto parts = schedule::split(state, mine[last], {PrimExpr(), number(tile.knobs->lanes)}, true);
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
  if (!tile.knobs->is_parallel || attach_padding(state, tile, outer)) return;
  if (outer.size() > 1) outer.pop_back();
  share_between_threads(state, outer, reduction, ParallelThreshold::reduced);
}

}  // namespace

std::optional<ReductionPlan> plan_reduction(const State& state, const BlockRef& block, const Machine& machine) {
  std::optional<Reduction> reduction = as_reduction(state.find(block), true);
  ReductionKnobs knobs = reduction ? choose(*reduction, machine) : nullptr;
  if (!knobs) return {};
  ReductionPlan plan{.reduction = *reduction, .knobs = knobs};
  find_padding(state, block, &plan);
  return plan;
}

void tile_reduction(State& state, const BlockRef& block, const ReductionPlan& plan) {
  check_knobs(plan);
  tile_with_store(state, block, plan.reduction,
                  [&](const BlockRef& store) { schedule_tile(state, block, store, plan); });
}

}  // namespace tessera::topi
