#include "topi/cpu/rows.h"

#include <cmath>

#include "ir/prim_ops.h"
#include "te/reduce.h"
#include "topi/elementwise.h"
#include "topi/te_schedule.h"

namespace tessera::topi {
namespace {

constexpr int64_t kShortestRow = 16;
constexpr int64_t kParallelElements = 4096;  // below this a second thread costs more than it brings
constexpr const char *kParts = "row_parts", *kTotal = "row_total", *kValues = "row_values";

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

Array<PrimExpr> joined(Array<PrimExpr> at, const PrimExpr& last) {
  at.push_back(last);
  return at;
}
Array<PrimExpr> but_last(const Array<PrimExpr>& at) { return {at.begin(), at.end() - 1}; }

PrimExpr combined(RowKind kind, const PrimExpr& value, const IterVar& axis) {
  return kind == RowKind::Sum ? te::sum(value, {axis}) : te::max_over(value, {axis});
}

int64_t elements(const Array<IterVar>& axes) {
  int64_t out = 1;
  for (const IterVar& axis : axes) out *= as_int(axis->dom->extent) ? *as_int(axis->dom->extent) : 1;
  return out;
}

}  // namespace

int64_t row_lanes(const te::Tensor& x, const Machine& machine) {
  if (x->dtype != DataType::Float(32) && x->dtype != DataType::Float(64)) return 0;
  if (x->shape.empty()) return 0;
  for (const PrimExpr& extent : x->shape)
    if (!as_int(extent) || *as_int(extent) < 1) return 0;
  return *as_int(x->shape.back()) < kShortestRow ? 0 : machine->vector_bytes / x->dtype.bytes();
}

te::Tensor reduce_rows(const te::Tensor& x, RowKind kind, int64_t lanes) {
  const int64_t length = *as_int(x->shape.back()), steps = (length + lanes - 1) / lanes;
  const Array<PrimExpr> rows = but_last(x->shape);
  const PrimExpr none = kind == RowKind::Sum ? make_zero(x->dtype) : float_imm(x->dtype, -INFINITY);
  IterVar step = te::reduce_axis(make_range(0, number(steps)), "k");
  te::Tensor parts = te::compute(
      joined(rows, number(lanes)),
      [&](const Array<PrimExpr>& at) {
        PrimExpr k = step->var * number(lanes) + at.back();
        PrimExpr value = te::load(x, joined(but_last(at), k));
        if (steps * lanes > length) value = if_then_else(k < number(length), value, none);
        return combined(kind, value, step);
      },
      "parts", kParts);
  IterVar lane = te::reduce_axis(make_range(0, number(lanes)), "lane");
  return te::compute(
      rows, [&](const Array<PrimExpr>& at) { return combined(kind, te::load(parts, joined(at, lane->var)), lane); },
      "total", kTotal);
}

te::Tensor softmax_rows(const te::Tensor& x, int64_t lanes) {
  te::Tensor greatest = reduce_rows(x, RowKind::Max, lanes);
  te::Tensor power = te::compute(
      x->shape,
      [&](const Array<PrimExpr>& at) {
        return unary_intrin("tir.exp", te::load(x, at) - te::load(greatest, but_last(at)));
      },
      "power", kValues);
  te::Tensor total = reduce_rows(power, RowKind::Sum, lanes);
  return te::compute(
      x->shape, [&](const Array<PrimExpr>& at) { return div(te::load(power, at), te::load(total, but_last(at))); },
      "softmax", "softmax_output");
}

te::Schedule schedule_rows(const Array<te::Tensor>& outs, const Target& target) {
  te::Schedule sch = schedule_inlined(outs);
  te::Stage last = te::stage_of(sch, outs[0]->op);
  auto* op = last->op.as<te::ComputeOp>();
  Array<IterVar> reduced;  // the rows
  for (const te::Stage& stage : sch->stages)
    if (auto* total = stage->op.as<te::ComputeOp>(); total && total->tag == kTotal) reduced = total->axis;
  // the result is a row for each, or a number for each
  const bool fits = outs.size() == 1 && op && op->reduce_axis.empty() && !reduced.empty() &&
                    op->axis.size() >= reduced.size() &&
                    (op->tag == "softmax_output" || elements(op->axis) == elements(reduced));
  if (!fits) return schedule_for(outs, target);
  const int64_t lanes = machine_of(target)->vector_bytes / outs[0]->dtype.bytes();
  IterVar row = te::fuse(last, Array<IterVar>(op->axis.begin(), op->axis.begin() + static_cast<long>(reduced.size())));
  if (op->tag == "softmax_output")
    te::set_loop_kind(last, te::split(last, op->axis.back(), number(lanes), PrimExpr()).second, IterType::Vectorized);
  if (elements(reduced) * kShortestRow >= kParallelElements) te::set_loop_kind(last, row, IterType::Parallelized);
  for (size_t i = sch->stages.size(); i-- > 0;) {
    const te::Stage& stage = sch->stages[i];
    auto* made = stage->op.as<te::ComputeOp>();
    if (!made || (made->tag != kParts && made->tag != kTotal && made->tag != kValues)) continue;
    te::compute_at(stage, last, row);
    if (made->tag == kTotal) continue;
    IterVar along = made->axis.back();
    if (made->tag == kValues) along = te::split(stage, along, number(lanes), PrimExpr()).second;
    else te::reorder(stage, {made->reduce_axis[0], along});
    te::set_loop_kind(stage, along, IterType::Vectorized);
  }
  return sch;
}

}  // namespace tessera::topi
