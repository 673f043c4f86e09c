#include "topi/cpu/windows.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "topi/cpu/cost_model.h"

namespace tessera::topi {
namespace {

register_types<PoolKnobsNode> pool_types;

using schedule::BlockRef;
using schedule::State;

/// Kernel size of one axis; elements of a window along all axes but the last, which are unrolled.
constexpr int64_t kMaxKernelSize = 7, kMaxColumnElements = 27;
constexpr int64_t kMaxStep = 3;  // elements apart that are still shuffled out of a few vectors
constexpr int64_t kMinLanes = 4;
/// Of L1, for a row of columns at most; for rows that are reduced together.
constexpr int64_t kRowShare = 2, kRowsShare = 4;
constexpr int64_t kMinTasks = 16;  // with fewer, rows are tasks too

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

/// The step of windows along axis `i`, where what they read depends on nothing else of it and of the window's last axis.
std::optional<int64_t> step_along(const Reduction& reduction, const PrimExpr& element, size_t i) {
  const Var &axis = reduction.axes[i], &offset = reduction.block->iter_vars.back()->var;
  std::optional<int64_t> step;
  bool fits = true;
  const int64_t apart = i + 1 < reduction.axes.size() ? reduction.extents.back() : 1;
  walk(element, [&](const BufferLoad* load) {
    std::optional<int64_t> by_axis = stride(load, axis), by_offset = stride(load, offset);
    if (by_axis == 0 && by_offset == 0) return;
    fits = fits && by_axis && by_offset == apart && *by_axis > 0 && *by_axis % apart == 0 &&
           (!step || *step == *by_axis / apart);
    if (fits) step = *by_axis / apart;
  });
  if (!fits || !step) return {};
  Map<Var, PrimExpr> moved{{axis, make_zero(axis->dtype)}, {offset, axis * int_imm(axis->dtype, *step) + offset}};
  arith::Analyzer analyzer;
  if (!deep_equal(analyzer.simplify(element), analyzer.simplify(substitute(element, moved)))) return {};
  return step;
}

/// The bytes of a row of columns.
int64_t row_bytes(const Windows& windows) {
  return windows.columns() * windows.block() * windows.reduction.block->writes[0]->buffer->dtype.bytes();
}

PoolKnobs choose(const Windows& windows, const Machine& machine) {
  const DataType dtype = windows.reduction.block->writes[0]->buffer->dtype;
  const int64_t native = machine->vector_bytes / std::max(dtype.bytes(), 1);
  PoolKnobsNode out;
  out.lanes = static_cast<int32_t>(lanes_within(native, windows.result_elements()));
  out.column_lanes = static_cast<int32_t>(lanes_within(native, windows.column_elements()));
  // What was just stored is slow to read elsewhere: several rows go together.
  const int64_t height = windows.height();
  int64_t rows = std::clamp<int64_t>(machine->l1_bytes / kRowsShare / row_bytes(windows), 1, height);
  while (height % rows != 0) --rows;
  out.rows = static_cast<int32_t>(rows);
  int64_t tasks = 1;
  for (size_t i = 0; i + 1 < windows.along; ++i) tasks *= windows.reduction.extents[i];
  out.shares_rows = windows.along > 0 && tasks < kMinTasks;
  out.is_parallel = windows.reduction.steps >= ParallelThreshold::reduced;
  return make(std::move(out));
}

}  // namespace

std::optional<Windows> as_windows(const State& state, const BlockRef& block, const Machine& machine) {
  std::optional<Reduction> reduction = as_reduction(state.find(block));
  if (!reduction) return {};
  Windows out;
  out.reduction = *reduction;
  PrimExpr element = reduced_of(reduction->block);
  if (!element) return {};
  int64_t column_elements = 1;
  for (size_t i = 0; i < reduction->reduce_axes; ++i) {
    if (reduction->reduce_extents[i] > kMaxKernelSize) return {};
    if (i + 1 < reduction->reduce_axes) column_elements *= reduction->reduce_extents[i];
  }
  if (column_elements > kMaxColumnElements || reduction->reduce_extents.back() < 2) return {};
  if (const BlockNode* padding = padding_of(state, block, element)) {
    Map<Var, PrimExpr> indices;
    auto* load = element.as<BufferLoad>();
    for (size_t i = 0; i < padding->iter_vars.size(); ++i) indices.set(padding->iter_vars[i]->var, load->indices[i]);
    out.padding = padding;
    element = substitute(padding->body.as<BufferStore>()->value, indices);
  }
  const size_t last = reduction->axes.size() - 1;
  std::optional<int64_t> step;
  for (size_t i = last + 1; i-- > 0 && i + 2 > last && !step;)
    if (reduction->extents[i] > 1 && (step = step_along(*reduction, element, i))) out.along = i;
  if (!step) return {};
  out.step = *step;
  out.column = make_var("column", reduction->axes[out.along]->dtype);
  PrimExpr value = substitute(element, Map<Var, PrimExpr>{{reduction->axes[out.along], make_zero(out.column->dtype)},
                                                          {reduction->block->iter_vars.back()->var, out.column}});
  std::optional<Bordered> parts = part_border(value, out.column, out.columns());
  if (!parts) return {};
  out.data = *parts;
  if (column_elements == 1 && !out.data.border) return {};  // there is nothing that windows share
  if (out.data.border && is_sum(reduction->block) && !is_zero_number(out.data.border)) return {};
  for (const PrimExpr& condition : out.data.rows)
    if (out.block() > 1 && uses_var(condition, [&](const VarNode* v) { return v == reduction->axes.back().get(); }))
      return {};
  const DataType dtype = reduction->block->writes[0]->buffer->dtype;
  const int64_t native = machine->vector_bytes / std::max(dtype.bytes(), 1);
  const bool is_short = std::min(out.result_elements(), out.column_elements()) < std::min(native, kMinLanes);
  if (is_short || (out.block() == 1 && out.step > kMaxStep) || row_bytes(out) > machine->l1_bytes / kRowShare ||
      value.dtype() != dtype)
    return {};
  out.knobs = choose(out, machine);
  if (BlockRef epilogue = epilogue_of(state, block, *reduction); epilogue.key) {
    out.epilogue = state.find(epilogue).block();
    if (!out.epilogue->body.as<BufferStore>()) out.epilogue = nullptr;
  }
  return out;
}

}  // namespace tessera::topi
