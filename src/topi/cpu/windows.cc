#include "topi/cpu/windows.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::State;

constexpr int64_t kMostTaps = 7, kMostRowTaps = 27;  // of one axis; of all but the last, which are written out
constexpr int64_t kMostStep = 3;                     // elements apart that are still shuffled out of a few vectors
constexpr int64_t kFewestLanes = 4, kMostRowBytes = 1 << 14;

/// `C[...] = max(C[...], x)`, or a minimum or sum.
PrimExpr reduced_of(const BlockNode* block) {
  auto* store = block->body.as<BufferStore>();
  PrimExpr a, b;
  auto take = [&](const auto* op) {
    if (op) a = op->a, b = op->b;
  };
  if (store) take(store->value.as<Max>()), take(store->value.as<Min>()), take(store->value.as<Add>());
  auto* before = a ? a.as<BufferLoad>() : nullptr;
  return before && before->buffer.same_as(store->buffer) ? b : PrimExpr();
}

bool is_sum(const BlockNode* block) { return block->body.as<BufferStore>()->value.as<Add>() != nullptr; }

/// The stage that fills up what the element reads, with its place in the element; nothing where there is none.
const BlockNode* padding_of(const State& state, const BlockRef& block, const PrimExpr& element) {
  auto* load = element.as<BufferLoad>();
  if (!load) return nullptr;
  for (const BlockRef& producer : schedule::get_producers(state, block)) {
    schedule::Place place = state.find(producer);
    const BlockNode* out = place.block();
    auto* store = out->body.as<BufferStore>();
    if (!is_spatial(place) || is_scheduled(place) || schedule::get_consumers(state, producer).size() != 1 || !store ||
        !store->buffer.same_as(load->buffer) || store->indices.size() != out->iter_vars.size())
      continue;
    bool is_in_order = true;
    for (size_t i = 0; i < store->indices.size(); ++i)
      is_in_order = is_in_order && store->indices[i].same_as(out->iter_vars[i]->var);
    if (is_in_order) return out;
  }
  return nullptr;
}

bool names(const PrimExpr& e, const Var& var) {
  return uses_var(e, [&](const VarNode* v) { return v == var.get(); });
}

bool is_zero_number(const PrimExpr& e) {
  auto* value = e.as<FloatImm>();
  return is_zero(e) || (value && value->value == 0);
}

void split_conjunction(const PrimExpr& condition, std::vector<PrimExpr>* out) {
  if (auto* both = condition.as<And>()) {
    split_conjunction(both->a, out);
    split_conjunction(both->b, out);
  } else {
    out->push_back(condition);
  }
}

/// The step of windows along axis `i`, where what they read depends on nothing else of the axis and the last tap.
std::optional<int64_t> step_along(const Reduction& reduction, const PrimExpr& element, size_t i) {
  const Var &axis = reduction.axes[i], &tap = reduction.block->iter_vars.back()->var;
  std::optional<int64_t> step;
  bool fits = true;
  const int64_t apart = i + 1 < reduction.axes.size() ? reduction.extents.back() : 1;
  walk(element, [&](const BufferLoad* load) {
    std::optional<int64_t> by_axis = stride(load, axis), by_tap = stride(load, tap);
    if (by_axis == 0 && by_tap == 0) return;
    fits = fits && by_axis && by_tap == apart && *by_axis > 0 && *by_axis % apart == 0 &&
           (!step || *step == *by_axis / apart);
    if (fits) step = *by_axis / apart;
  });
  if (!fits || !step) return {};
  Map<Var, PrimExpr> moved{{axis, make_zero(axis->dtype)}, {tap, axis * int_imm(axis->dtype, *step) + tap}};
  arith::Analyzer analyzer;
  if (!deep_equal(analyzer.simplify(element), analyzer.simplify(substitute(element, moved)))) return {};
  return step;
}

/// The greatest power of two that is at most both.
int64_t lanes_within(int64_t most, int64_t extent) {
  int64_t out = 1;
  while (out * 2 <= std::min(most, extent)) out *= 2;
  return out;
}

/// Parts the element into what is data, what is border, and the conditions for that; false where those are of another form.
bool part_border(Windows& out) {
  out.end = out.columns();
  auto* choice = out.element.as<Call>();
  if (!choice || !builtin::is(choice, builtin::if_then_else())) return true;
  std::vector<PrimExpr> conditions;
  split_conjunction(choice->args[0], &conditions);
  out.border = choice->args[2];
  out.element = choice->args[1];
  const bool is_number = out.border.as<FloatImm>() || as_int(out.border);
  if (!is_number || (is_sum(out.reduction.block) && !is_zero_number(out.border))) return false;
  for (const PrimExpr& condition : conditions) {
    if (out.block() > 1 && names(condition, out.reduction.axes.back())) return false;
    if (!names(condition, out.column)) {
      out.rows.push_back(condition);
      continue;
    }
    Array<PrimExpr> bounds = arith::detect_clip_bound(condition, {out.column});
    if (bounds.size() != 2) return false;
    for (size_t i = 0; i < 2; ++i)
      if (bounds[i] && !as_int(bounds[i])) return false;
    if (bounds[0]) out.first = std::max(out.first, *as_int(bounds[0]));
    if (bounds[1]) out.end = std::min(out.end, *as_int(bounds[1]) + 1);
  }
  return out.first < out.end;
}

}  // namespace

std::optional<Windows> as_windows(const State& state, const BlockRef& block, const Machine& machine) {
  std::optional<Reduction> reduction = as_reduction(state.find(block));
  if (!reduction) return {};
  Windows out;
  out.reduction = *reduction;
  out.element = reduced_of(reduction->block);
  if (!out.element) return {};
  int64_t row_taps = 1;
  for (size_t i = 0; i < reduction->reduce_axes; ++i) {
    if (reduction->reduce_extents[i] > kMostTaps) return {};
    if (i + 1 < reduction->reduce_axes) row_taps *= reduction->reduce_extents[i];
  }
  if (row_taps > kMostRowTaps || reduction->reduce_extents.back() < 2) return {};
  if (const BlockNode* padding = padding_of(state, block, out.element)) {
    Map<Var, PrimExpr> places;
    auto* load = out.element.as<BufferLoad>();
    for (size_t i = 0; i < padding->iter_vars.size(); ++i) places.set(padding->iter_vars[i]->var, load->indices[i]);
    out.padding = padding;
    out.element = substitute(padding->body.as<BufferStore>()->value, places);
  }
  const size_t last = reduction->axes.size() - 1;
  std::optional<int64_t> step;
  for (size_t i = last + 1; i-- > 0 && i + 2 > last && !step;)
    if (reduction->extents[i] > 1 && (step = step_along(*reduction, out.element, i))) out.along = i;
  if (!step) return {};
  out.step = *step;
  out.column = make_var("column", reduction->axes[out.along]->dtype);
  out.element = substitute(out.element, Map<Var, PrimExpr>{{reduction->axes[out.along], make_zero(out.column->dtype)},
                                                           {reduction->block->iter_vars.back()->var, out.column}});
  if (!part_border(out)) return {};
  if (row_taps == 1 && !out.border) return {};  // there is nothing that windows share
  const DataType dtype = reduction->block->writes[0]->buffer->dtype;
  const int64_t native = machine->vector_bytes / std::max(dtype.bytes(), 1);
  out.lanes = lanes_within(native, out.block() > 1 ? out.block() : reduction->extents[last]);
  out.row_lanes = lanes_within(native, out.block() > 1 ? out.block() : out.end - out.first);
  const bool is_short = std::min(out.lanes, out.row_lanes) < std::min(native, kFewestLanes);
  if (is_short || (out.block() == 1 && out.step > kMostStep) ||
      out.columns() * out.block() * dtype.bytes() > kMostRowBytes || out.element.dtype() != dtype)
    return {};
  if (BlockRef reader = reader_of(state, block, *reduction); reader.key) {
    out.reader = state.find(reader).block();
    if (!out.reader->body.as<BufferStore>()) out.reader = nullptr;
  }
  return out;
}

}  // namespace tessera::topi
