#include "topi/cpu/windows.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

register_types<PoolKnobsNode> pool_types;

using schedule::BlockRef;
using schedule::State;

constexpr int64_t kMaxWidth = 32;  // elements of a window along its last axis, which are unrolled
constexpr int64_t kMaxStep = 3;    // elements apart that are still shuffled out of a few vectors
constexpr int64_t kMinLanes = 4;
/// Of L1, for a row of columns at most; for rows that are reduced together.
constexpr int64_t kRowShare = 2, kRowsShare = 4;
constexpr int64_t kMinTasks = 16;    // with fewer, rows are tasks too
constexpr int64_t kDynamicRows = 4;  // that are reduced together where their length is not known

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

bool is_zero_number(const PrimExpr& e) {
  auto* value = e.as<FloatImm>();
  return is_zero(e) || (value && value->value == 0);
}

/// The stage that pads what the element reads; null where there is none.
const BlockNode* padding_of(const State& state, const BlockRef& block, const PrimExpr& element) {
  auto* load = element.as<BufferLoad>();
  if (!load) return nullptr;
  for (const BlockRef& producer : schedule::get_producers(state, block)) {
    schedule::Cursor cursor = state.find(producer);
    const BlockNode* out = cursor.block();
    auto* store = out->body.as<BufferStore>();
    if (!is_spatial(cursor) || is_scheduled(cursor) || schedule::get_consumers(state, producer).size() != 1 || !store ||
        !store->buffer.same_as(load->buffer) || store->indices.size() != out->iter_vars.size())
      continue;
    bool is_in_order = true;
    for (size_t i = 0; i < store->indices.size(); ++i)
      is_in_order = is_in_order && store->indices[i].same_as(out->iter_vars[i]->var);
    if (is_in_order) return out;
  }
  return nullptr;
}

/// How windows lie along an axis: `step` columns from one to the next, `dilation` between elements of one.
struct Steps {
  int64_t step = 1, dilation = 1;
};

/// Those along axis `i`, where loads see the axis and the window's last axis so, or neither.
std::optional<Steps> steps_along(const Reduction& reduction, const PrimExpr& element, size_t i) {
  const Var &axis = reduction.axes[i], &offset = reduction.block->iter_vars.back()->var;
  const int64_t apart = i + 1 < reduction.axes.size() ? reduction.extents.back() : 1;
  if (apart == kDynamic) return {};
  std::optional<Steps> out;
  bool fits = true;
  walk(element, [&](const BufferLoad* load) {
    std::optional<int64_t> by_axis = stride(load, axis), by_offset = stride(load, offset);
    if (by_axis == 0 && by_offset == 0) return;
    fits = fits && by_axis && by_offset && *by_axis > 0 && *by_offset > 0 && *by_axis % apart == 0 &&
           *by_offset % apart == 0 && (!out || (out->step == *by_axis / apart && out->dilation == *by_offset / apart));
    if (fits) out = Steps{*by_axis / apart, *by_offset / apart};
  });
  return fits ? out : std::nullopt;
}

/// The element by its column, which is axis * step + offset * dilation; empty where it depends on more than that of both.
PrimExpr by_column(const Reduction& reduction, const PrimExpr& element, size_t i, const Steps& steps,
                   const Var& column) {
  const Var &axis = reduction.axes[i], &offset = reduction.block->iter_vars.back()->var;
  arith::Analyzer analyzer;
  auto with = [&](const PrimExpr& at, const PrimExpr& in) {
    return analyzer.simplify(substitute(element, Map<Var, PrimExpr>{{axis, at}, {offset, in}}));
  };
  if (steps.dilation == 1) {
    const PrimExpr moved = with(make_zero(axis->dtype), axis * int_imm(axis->dtype, steps.step) + offset);
    if (!deep_equal(analyzer.simplify(element), moved)) return nullptr;
    return substitute(element, Map<Var, PrimExpr>{{axis, make_zero(axis->dtype)}, {offset, column}});
  }
  if (steps.step != 1) return nullptr;
  const PrimExpr out = with(column - offset * int_imm(axis->dtype, steps.dilation), offset);
  const bool is_free = !uses_var(out, [&](const VarNode* v) { return v == axis.get() || v == offset.get(); });
  return is_free ? out : nullptr;
}

/// The bytes of a row of columns, as far as its length is known.
int64_t row_bytes(const Windows& windows) {
  return likely_extent(windows.columns()) * windows.block() * windows.reduction.block->writes[0]->buffer->dtype.bytes();
}

PoolKnobs choose(const Windows& windows, const Machine& machine) {
  const DataType dtype = windows.reduction.block->writes[0]->buffer->dtype;
  const int64_t native = machine->vector_bytes / std::max(dtype.bytes(), 1);
  PoolKnobsNode out;
  out.lanes = static_cast<int32_t>(lanes_within(native, windows.result_elements()));
  out.column_lanes = static_cast<int32_t>(lanes_within(native, windows.column_elements()));
  // What was just stored is slow to read elsewhere: several rows go together.
  const int64_t *height = as_int(windows.height()), most = height ? *height : kDynamicRows;
  int64_t rows = std::clamp<int64_t>(machine->l1_bytes / kRowsShare / row_bytes(windows), 1, most);
  while (height && *height % rows != 0) --rows;
  out.rows = static_cast<int32_t>(rows);
  int64_t tasks = 1;
  for (size_t i = 0; i + 1 < windows.along; ++i) tasks *= likely_extent(windows.extent(i));
  out.shares_rows = windows.along > 0 && tasks < kMinTasks;
  out.is_parallel = windows.is_dynamic() || windows.reduction.steps >= ParallelThreshold::reduced;
  return make(std::move(out));
}

}  // namespace

PrimExpr Windows::columns() const {
  const int64_t inside = (reduction.reduce_extents.back() - 1) * dilation + 1;
  return arith::Analyzer().simplify((extent(along) - number(1)) * number(step) + number(inside));
}

int64_t Windows::result_elements() const { return block() > 1 ? block() : likely_extent(extent(along)); }

int64_t Windows::column_elements() const {
  return block() > 1 ? block() : likely_extent(arith::Analyzer().simplify(data.end - data.first));
}

int64_t Windows::window_column() const {
  int64_t out = 1;
  for (size_t i = 0; i + 1 < reduction.reduce_axes; ++i) out *= reduction.reduce_extents[i];
  return out;
}

std::optional<Windows> as_windows(const State& state, const BlockRef& block, const Machine& machine) {
  std::optional<Reduction> reduction = as_reduction(state.find(block), true);
  if (!reduction) return {};
  Windows out;
  out.reduction = *reduction;
  PrimExpr element = reduced_of(reduction->block);
  if (!element) return {};
  for (const int64_t extent : reduction->reduce_extents)
    if (extent == kDynamic) return {};
  for (size_t i = 0; i < reduction->axes.size(); ++i)
    if (out.extent(i).dtype() != DataType::Int(32)) return {};
  if (reduction->reduce_extents.back() < 2 || reduction->reduce_extents.back() > kMaxWidth) return {};
  const BlockNode* padding = padding_of(state, block, element);
  const size_t last = reduction->axes.size() - 1;
  const size_t least = last > 0 ? last - 1 : 0;
  for (size_t i = last + 1; i-- > least && !out.column;) {
    if (reduction->extents[i] == 1) continue;
    std::optional<Steps> steps = steps_along(*reduction, element, i);
    if (!steps) continue;
    const Var column = make_var("column", reduction->axes[i]->dtype);
    const PrimExpr moved = by_column(*reduction, element, i, *steps, column);
    if (!moved) continue;
    out.along = i, out.step = steps->step, out.dilation = steps->dilation;
    out.column = column;
    element = moved;
  }
  if (!out.column) return {};
  if (padding) {
    Map<Var, PrimExpr> indices;
    auto* load = element.as<BufferLoad>();
    for (size_t i = 0; i < padding->iter_vars.size(); ++i) indices.set(padding->iter_vars[i]->var, load->indices[i]);
    out.padding = padding;
    element = substitute(padding->body.as<BufferStore>()->value, indices);
  }
  std::optional<Bordered> parts = part_border(element, out.column, out.columns(), reduction->block);
  if (!parts) return {};
  out.data = *parts;
  if (out.window_column() == 1 && !out.data.border) return {};  // there is nothing that windows share
  if (out.data.border && is_sum(reduction->block) && !is_zero_number(out.data.border)) return {};
  for (const PrimExpr& condition : out.data.rows)
    if (out.block() > 1 && uses_var(condition, [&](const VarNode* v) { return v == reduction->axes.back().get(); }))
      return {};
  const DataType dtype = reduction->block->writes[0]->buffer->dtype;
  const int64_t native = machine->vector_bytes / std::max(dtype.bytes(), 1);
  const bool is_short = std::min(out.result_elements(), out.column_elements()) < std::min(native, kMinLanes);
  if (is_short || (out.block() == 1 && out.step > kMaxStep) || row_bytes(out) > machine->l1_bytes / kRowShare ||
      element.dtype() != dtype)
    return {};
  out.knobs = choose(out, machine);
  if (BlockRef epilogue = epilogue_of(state, block, *reduction); epilogue.key) {
    out.epilogue = state.find(epilogue).block();
    if (!out.epilogue->body.as<BufferStore>()) out.epilogue = nullptr;
  }
  return out;
}

}  // namespace tessera::topi
