#include "topi/cpu/tile_elements.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/parallel.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

/// Iterations that are enough for threads to share; loops inside them stay loops, and what depends on the outer ones alone
/// is computed once for all that is inside.
constexpr int64_t kShares = 256;
/// The same where an extent is dynamic: which iteration of several loops it is costs a division there.
constexpr int64_t kDynamicShares = 8, kLikelyRows = 32;

/// The axis of the block that a loop counts.
Var axis_of(const State& state, const BlockRef& block, const LoopRef& loop) {
  schedule::Cursor cursor = state.find(block);
  const Var& var = state.find(loop).loop()->loop_var;
  for (size_t i = 0; i < cursor.realize()->iter_values.size(); ++i)
    if (cursor.realize()->iter_values[i].same_as(var)) return cursor.block()->iter_vars[i]->var;
  return nullptr;
}

/// True when `inner`, of `extent` steps, and `outer` around it go through memory as one loop would: wherever the block
/// reads or writes by one of them. Indices that were read are looked at where they are read.
bool are_one_in_memory(const BlockNode* block, const Var& outer, const Var& inner, const PrimExpr& extent) {
  auto* store = block->body.as<BufferStore>();
  if (!store) return false;
  arith::Analyzer analyzer;
  auto is_one = [&](const Buffer& buffer, const Array<PrimExpr>& given) {
    Array<PrimExpr> indices;
    for (const PrimExpr& index : given)
      indices.push_back(rewrite(index, [](const BufferLoad* load) -> PrimExpr { return make_zero(load->dtype); }));
    const PrimExpr step = stride_of(buffer, indices, inner), row = stride_of(buffer, indices, outer);
    const bool varies = uses_var(step, inner) || uses_var(step, outer) || uses_var(row, inner) || uses_var(row, outer);
    return !varies && analyzer.can_prove_equal(row, step * extent);
  };
  bool fits = is_one(store->buffer, store->indices);
  walk(store->value, [&](const BufferLoad* load) { fits = fits && is_one(load->buffer, load->indices); });
  if (!fits) return false;
  PrimExpr rest = rewrite(store->value, [](const BufferLoad* load) -> PrimExpr { return make_zero(load->dtype); });
  walk(rest, [&](const VarNode* var) { fits = fits && var != outer.get() && var != inner.get(); });
  return fits;
}

/// Fuses the innermost loops as far as they go through memory as one: vectors do not end where a row does.
void fuse_rows(State& state, const BlockRef& block, std::vector<LoopRef>* loops) {
  auto extent_at = [&](const LoopRef& loop) { return state.find(loop).loop()->extent; };
  size_t first = loops->size() - 1;
  PrimExpr extent = extent_at(loops->back());
  int64_t fused = as_int(extent) ? *as_int(extent) : 0;  // 0: not known
  const bool has_none = as_int(extent) && *as_int(extent) < 1;
  while (first > 0 && !has_none && (fused == 0 || fused % kVectorLanes != 0)) {
    const LoopRef &outer = (*loops)[first - 1], &inner = (*loops)[first];
    Var row = axis_of(state, block, outer), step = axis_of(state, block, inner);
    const PrimExpr around = extent_at(outer);
    const bool is_empty = as_int(around) && *as_int(around) < 1;
    if (is_empty || !row || !step || !are_one_in_memory(state.find(block).block(), row, step, extent)) break;
    extent = around;
    fused = as_int(extent) ? fused * *as_int(extent) : 0;
    --first;
  }
  if (first + 1 >= loops->size()) return;
  attempt([&] {
    LoopRef one = schedule::fuse(state, {loops->begin() + static_cast<long>(first), loops->end()}, true);
    loops->resize(first);
    loops->push_back(one);
  });
}

/// The greatest number by which the axis is divided, with or without rest, that divides its extent; 0 without one.
int64_t period_of(const BlockNode* block, const Var& axis, int64_t extent) {
  int64_t out = 0;
  auto look = [&](const PrimExpr& a, const PrimExpr& b) {
    const int64_t* number = as_int(b);
    if (a.same_as(axis) && number && *number >= kVectorLanes && *number < extent && extent % *number == 0)
      out = std::max(out, *number);
  };
  walk(block->body, [&](const FloorMod* op) { look(op->a, op->b); });
  walk(block->body, [&](const FloorDiv* op) { look(op->a, op->b); });
  return out;
}

/// A loop that reads the same elements again and again becomes one over the times and one over the elements.
bool split_periods(State& state, const BlockRef& block, std::vector<LoopRef>* loops) {
  Var axis = axis_of(state, block, loops->back());
  const int64_t extent = extent_of(state, loops->back());
  const int64_t period = axis && extent > 0 ? period_of(state.find(block).block(), axis, extent) : 0;
  if (period == 0) return false;
  return attempt([&] {
    std::vector<LoopRef> parts = schedule::split(state, loops->back(), {PrimExpr(), PrimExpr(int(period))}, true);
    loops->back() = parts[0];
    loops->push_back(parts[1]);
  });
}

/// True when vectors along the axis are gathered from elements that are no neighbours.
bool has_steps(const BlockNode* block, const Var& axis) {
  bool found = false;
  walk(block->body, [&](const BufferLoad* load) {
    auto step = stride(load, axis);
    found = found || (step && *step != 0 && *step != 1);
  });
  return found;
}

/// The same where data says from which ones.
bool has_indices_from_data(const BlockNode* block, const Var& axis) {
  bool found = false;
  auto is_axis = [&](const VarNode* var) { return var == axis.get(); };
  walk(block->body, [&](const BufferLoad* load) {
    for (const PrimExpr& index : load->indices)
      walk(index, [&](const BufferLoad* read) {
        for (const PrimExpr& at : read->indices) found = found || uses_var(at, is_axis);
      });
  });
  return found;
}

/// Elements of a vector: as many as there are at most, or fewer of which none sticks out.
int64_t lanes_for(int64_t extent, bool may_stick_out) {
  if (may_stick_out || extent < 1) return kVectorLanes;
  for (int64_t lanes : {16, 8, 14, 12, 10})
    if (extent % lanes == 0) return lanes;
  return kVectorLanes;
}

}  // namespace

void tile_elements(State& state, const BlockRef& block) {
  std::vector<LoopRef> loops = spatial_loops(state, block);
  if (loops.empty()) return;
  bool all_spatial = is_spatial(state.find(block)) && loops.size() == state.find(block).loops().size();
  int64_t total = 1;  // of the extents that are known
  bool is_dynamic = false;
  for (const LoopRef& loop : loops) {
    int64_t extent = extent_of(state, loop);
    if (extent < 0) is_dynamic = true;
    else total *= extent;
  }
  int64_t inside = 1;  // known elements in one iteration of the loop that will be shared
  if (all_spatial) {
    const Var last = axis_of(state, block, loops.back());
    const bool is_gathered = last && has_indices_from_data(state.find(block).block(), last);
    fuse_rows(state, block, &loops);
    const bool is_periodic = split_periods(state, block, &loops);
    LoopRef inner = loops.back();
    int64_t extent = extent_of(state, inner);
    if (extent > kVectorLanes || extent < 0) {
      Var axis = axis_of(state, block, inner);
      const BlockNode* node = state.find(block).block();
      const bool may_stick_out = !is_periodic && !(axis && has_steps(node, axis)) && !is_gathered;
      const int64_t lanes = lanes_for(extent, may_stick_out);
      std::vector<LoopRef> parts;
      attempt([&] { parts = schedule::split(state, inner, {PrimExpr(), PrimExpr(int(lanes))}, true); });
      if (parts.size() == 2) loops.back() = parts[0], inner = parts[1];
      // A dynamic extent is partitioned into whole vectors and a remainder, which needs the loop over vectors as it is.
      if (extent < 0 && loops.size() > 1) loops.pop_back();
      else inside = kVectorLanes;
    } else {
      loops.pop_back();
      inside = extent;
    }
    if (extent > 1 || extent < 0) attempt([&] { schedule::vectorize(state, inner); });
  }
  if (loops.empty() || total == 0 || (!is_dynamic && total < ParallelThreshold::elements)) return;
  int64_t shared = 1;
  for (size_t i = 0; i < loops.size(); ++i) {
    const int64_t extent = extent_of(state, loops[i]);
    if (extent >= 0 || i > 0) shared *= extent >= 0 ? extent : kLikelyRows;  // a first one may be a batch of one
    if (shared < (is_dynamic ? kDynamicShares : kShares)) continue;
    for (size_t k = i + 1; k < loops.size(); ++k) inside *= std::max<int64_t>(1, extent_of(state, loops[k]));
    loops.resize(i + 1);
  }
  LoopRef outer = loops[0];
  if (loops.size() > 1) attempt([&] { outer = schedule::fuse(state, loops, true); });
  attempt([&] {
    schedule::parallel(state, outer);
    if (is_dynamic)  // whether it is worth sharing is seen at run time
      schedule::annotate(state, state.find(outer), attr::kMinParallelExtent,
                         int_imm(DataType::Int(32), std::max<int64_t>(2, ParallelThreshold::elements / inside)));
  });
}

}  // namespace tessera::topi
