#include "topi/cpu/rows.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "te/reduce.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"
#include "topi/elementwise.h"
#include "topi/te/schedule.h"

namespace tessera::topi {
namespace {

register_types<RowsKnobsNode> rows_types;

constexpr int64_t kMinRow = 16;
constexpr double kLikelyRow = 1 << 16;  // no row of dynamic length is taken to be longer
constexpr int64_t kLongRow = 32;        // vectors of a row from which on several sums are under way at once
constexpr const char *kParts = "row_parts", *kHalves = "row_halves", *kTotal = "row_total", *kValues = "row_values",
                     *kSoftmax = "softmax_output";
/// The last vector of a row, which may be short, gets code of its own.
constexpr const char* kPartitionHint = "loop_partition_hint";

Array<PrimExpr> with_last(Array<PrimExpr> at, const PrimExpr& last) {
  at.push_back(last);
  return at;
}
Array<PrimExpr> but_last(const Array<PrimExpr>& at) { return {at.begin(), at.end() - 1}; }

PrimExpr combined(RowKind kind, const PrimExpr& value, const Array<IterVar>& axes) {
  if (kind == RowKind::Sum) return te::sum(value, axes);
  return kind == RowKind::Max ? te::max_over(value, axes) : te::min_over(value, axes);
}

Array<IterVar> with_last(Array<IterVar> axes, const IterVar& last) {
  axes.push_back(last);
  return axes;
}

/// ceil(length / step), a number where the length is one.
PrimExpr steps_of(const PrimExpr& length, int64_t step) {
  if (const int64_t* known = as_int(length)) return number((*known + step - 1) / step);
  return floordiv(length + number(step - 1), number(step));
}

/// False where an extent is known not to divide into steps, or may not.
bool is_whole(const PrimExpr& length, int64_t step) {
  const int64_t* known = as_int(length);
  return known && *known % step == 0;
}

bool has_dynamic(const Array<IterVar>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const IterVar& axis) { return !as_int(axis->dom->extent); });
}

/// Both are the same number, or the same variable.
bool is_same(const PrimExpr& a, const PrimExpr& b) {
  const int64_t *left = as_int(a), *right = as_int(b);
  return left && right ? *left == *right : expr_equal(a, b);
}

/// The extents that are no numbers, in order.
bool have_same_dynamic(const Array<IterVar>& a, const Array<IterVar>& b) {
  auto dynamic = [](const Array<IterVar>& axes) {
    std::vector<PrimExpr> out;
    for (const IterVar& axis : axes)
      if (!as_int(axis->dom->extent)) out.push_back(axis->dom->extent);
    return out;
  };
  const std::vector<PrimExpr> left = dynamic(a), right = dynamic(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), is_same);
}

/// The known elements of axes; a dynamic extent counts as one.
int64_t elements(const Array<IterVar>& axes) {
  int64_t out = 1;
  for (const IterVar& axis : axes) out *= as_int(axis->dom->extent) ? *as_int(axis->dom->extent) : 1;
  return out;
}

/// How many partial results a row has: four vectors where it is long and little is filled up, else one; one where its length is
/// dynamic.
int64_t parts_of(const PrimExpr& row, int64_t lanes, int64_t widest) {
  if (!as_int(row)) return lanes;
  const int64_t vectors = (*as_int(row) + lanes - 1) / lanes;
  for (int64_t several : {4, 2})
    if (several * lanes <= widest && (vectors % several == 0 || vectors >= kLongRow)) return several * lanes;
  return lanes;
}

PrimExpr both(RowKind kind, const PrimExpr& a, const PrimExpr& b) {
  if (kind == RowKind::Sum) return a + b;
  return kind == RowKind::Max ? max(a, b) : min(a, b);
}

/// What changes no result.
PrimExpr identity_of(RowKind kind, DataType dtype) {
  if (kind == RowKind::Sum) return make_zero(dtype);
  return kind == RowKind::Max ? te::least_of(dtype) : te::greatest_of(dtype);
}

bool has_tag(const te::ComputeOp* op, std::initializer_list<const char*> tags) {
  for (const char* tag : tags)
    if (op->tag == tag) return true;
  return false;
}

/// The axes of the rows that a schedule reduces; empty where it reduces none, or several of other numbers.
Array<IterVar> reduced_rows(const te::Schedule& sch) {
  Array<IterVar> out;
  for (const te::Stage& stage : sch->stages) {
    auto* op = stage->op.as<te::ComputeOp>();
    if (!op || op->tag != kTotal) continue;
    if (!out.empty() && (elements(out) != elements(op->axis) || !have_same_dynamic(out, op->axis))) return {};
    out = op->axis;
  }
  return out;
}

/// One number for each of `rows`: their extents, then ones.
bool is_for_rows(const te::ComputeOp* op, const Array<IterVar>& rows) {
  if (!op->reduce_axis.empty() || op->body.size() != 1 || op->axis.size() < rows.size()) return false;
  if (op->tag.str().starts_with("injective")) return false;
  for (size_t i = 0; i < op->axis.size(); ++i) {
    const PrimExpr& extent = op->axis[i]->dom->extent;
    if (i < rows.size() ? !is_same(extent, rows[i]->dom->extent) : !is_one(extent)) return false;
  }
  return true;
}

}  // namespace

int64_t row_lanes(const te::Tensor& x, const Machine& machine, bool takes_int32) {
  const bool is_float = x->dtype == DataType::Float(32) || x->dtype == DataType::Float(64);
  if (!is_float && !(takes_int32 && x->dtype == DataType::Int(32))) return 0;
  if (x->shape.empty()) return 0;
  for (const PrimExpr& extent : x->shape)
    if (as_int(extent) && *as_int(extent) < 1) return 0;
  const int64_t* length = as_int(x->shape.back());
  return length && *length < kMinRow ? 0 : machine->vector_bytes / x->dtype.bytes();
}

void vectorize_row(const te::Stage& stage, const IterVar& axis, int64_t lanes) {
  auto [outer, inner] = te::split(stage, axis, number(lanes), PrimExpr());
  te::pragma(stage, outer, kPartitionHint, number(1));
  te::set_loop_kind(stage, inner, IterType::Vectorized);
}

te::Tensor reduce_rows(const te::Tensor& x, RowKind kind, int64_t lanes, int64_t widest) {
  return reduce_blocks(x, kind, lanes, x->shape.size() - 1, widest);
}

te::Tensor reduce_blocks(const te::Tensor& x, RowKind kind, int64_t lanes, size_t left, int64_t widest) {
  const PrimExpr length = x->shape.back();
  int64_t width = parts_of(length, lanes, widest);
  const Array<PrimExpr> rows(x->shape.begin(), x->shape.begin() + static_cast<long>(left));
  const PrimExpr none = identity_of(kind, x->dtype);
  Array<IterVar> axes;
  for (size_t i = left; i + 1 < x->shape.size(); ++i) axes.push_back(te::reduce_axis(make_range(0, x->shape[i]), "r"));
  axes.push_back(te::reduce_axis(make_range(0, steps_of(length, width)), "k"));
  te::Tensor parts = te::compute(
      with_last(rows, number(width)),
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> index = but_last(at);
        for (size_t i = 0; i + 1 < axes.size(); ++i) index.push_back(axes[i]->var);
        PrimExpr k = axes.back()->var * number(width) + at.back();
        PrimExpr value = te::load(x, with_last(index, k));
        if (!is_whole(length, width)) value = if_then_else(likely(k < length), value, none);
        return combined(kind, value, axes);
      },
      "parts", kParts);
  for (width /= 2; width > 1; width /= 2)
    parts = te::compute(
        with_last(rows, number(width)),
        [&](const Array<PrimExpr>& at) {
          PrimExpr other = te::load(parts, with_last(but_last(at), at.back() + number(width)));
          return both(kind, te::load(parts, at), other);
        },
        "halves", kHalves);
  return te::compute(
      rows,
      [&](const Array<PrimExpr>& at) {
        return both(kind, te::load(parts, with_last(at, number(0))), te::load(parts, with_last(at, number(1))));
      },
      "total", kTotal);
}

te::Tensor finish_rows(const te::Tensor& rows, size_t ones, const PrimExpr& count) {
  Array<PrimExpr> shape = rows->shape;
  for (size_t i = 0; i < ones; ++i) shape.push_back(PrimExpr(1));
  return te::compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr value = te::load(rows, Array<PrimExpr>(at.begin(), at.end() - static_cast<long>(ones)));
        if (is_one(count)) return value;
        const int64_t* known = as_int(count);
        return div(value,
                   known ? make_const(rows->dtype, static_cast<double>(*known)) : tessera::cast(rows->dtype, count));
      },
      "rows_result", "elemwise");
}

PrimExpr elements_from(const Array<PrimExpr>& shape, size_t first) {
  PrimExpr out = PrimExpr(1);
  for (size_t i = first; i < shape.size(); ++i) out = out * tessera::cast(out.dtype(), shape[i]);
  return out;
}

te::Tensor variance_blocks(const te::Tensor& x, const te::Tensor& mean, int64_t lanes, size_t left, bool keepdims,
                           bool unbiased, int64_t widest) {
  const size_t rank = x->shape.size();
  te::Tensor squares = te::compute(
      x->shape,
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> index(at.begin(), at.begin() + static_cast<long>(left));
        while (index.size() < rank) index.push_back(PrimExpr(0));
        PrimExpr rest = te::load(x, at) - te::load(mean, index);
        return rest * rest;
      },
      "squares", "elemwise");
  PrimExpr count = elements_from(x->shape, left);
  if (unbiased) count = count - PrimExpr(1);
  return finish_rows(reduce_blocks(squares, RowKind::Sum, lanes, left, widest), keepdims ? rank - left : 0, count);
}

te::Tensor softmax_rows(const te::Tensor& x, int64_t lanes, int64_t widest) {
  // Rows are filled up to whole vectors, so that no step has to ask where they end.
  const PrimExpr length = x->shape.back(), filled = steps_of(length, lanes) * number(lanes);
  te::Tensor greatest = reduce_rows(x, RowKind::Max, lanes, widest);
  // Shares that would be denormal are 0: a mask of -100 makes many of them, and CPUs multiply denormals a hundred times slower.
  const double normal = x->dtype.bits == 64 ? DBL_MIN : FLT_MIN;
  const double longest = as_int(length) ? static_cast<double>(*as_int(length)) : kLikelyRow;
  const PrimExpr least = float_imm(x->dtype, std::log(normal) + std::log(longest));
  const PrimExpr none = make_zero(x->dtype);
  te::Tensor power = te::compute(
      with_last(but_last(x->shape), filled),
      [&](const Array<PrimExpr>& at) {
        const Var less = make_var("offset", x->dtype);  // what both sides of a select read is loaded before it
        PrimExpr value = select(less < least, none, unary_intrin("tir.exp", select(less < least, least, less)));
        value = make_let(less, te::load(x, at) - te::load(greatest, but_last(at)), value);
        return is_whole(length, lanes) ? value : if_then_else(likely(at.back() < length), value, none);
      },
      "power", kValues);
  te::Tensor total = reduce_rows(power, RowKind::Sum, lanes);
  te::Tensor share = te::compute(
      total->shape, [&](const Array<PrimExpr>& at) { return div(make_const(x->dtype, 1), te::load(total, at)); },
      "share", kTotal);
  return te::compute(
      x->shape, [&](const Array<PrimExpr>& at) { return te::load(power, at) * te::load(share, but_last(at)); },
      "softmax", kSoftmax);
}

te::Tensor log_softmax_rows(const te::Tensor& x, int64_t lanes) {
  te::Tensor greatest = reduce_rows(x, RowKind::Max, lanes);
  te::Tensor power = te::compute(
      x->shape,
      [&](const Array<PrimExpr>& at) {
        return unary_intrin("tir.exp", te::load(x, at) - te::load(greatest, but_last(at)));
      },
      "power", "elemwise");
  te::Tensor total = reduce_rows(power, RowKind::Sum, lanes);
  te::Tensor log = te::compute(
      total->shape, [&](const Array<PrimExpr>& at) { return unary_intrin("tir.log", te::load(total, at)); }, "log",
      kTotal);
  return te::compute(
      x->shape,
      [&](const Array<PrimExpr>& at) {
        return te::load(x, at) - te::load(greatest, but_last(at)) - te::load(log, but_last(at));
      },
      "log_softmax", kSoftmax);
}

te::Tensor argmax_rows(const te::Tensor& x, int64_t lanes, bool last, size_t ones) {
  const DataType dtype = DataType::Int(32);
  const PrimExpr last_index = tessera::cast(dtype, x->shape.back()) - number(1);
  te::Tensor greatest = reduce_rows(x, RowKind::Max, lanes);
  // The first index is the greatest of those that count down.
  te::Tensor indices = te::compute(
      x->shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr index = tessera::cast(dtype, at.back());
        if (!last) index = last_index - index;
        // where an element is NaN, so is the greatest of its row
        PrimExpr element = te::load(x, at);
        PrimExpr is_greatest = logical_or(equal(element, te::load(greatest, but_last(at))), isnan(element));
        return select(is_greatest, index, make_zero(dtype));
      },
      "places", "elemwise");
  te::Tensor found = reduce_rows(indices, RowKind::Max, lanes);
  Array<PrimExpr> shape = found->shape;
  for (size_t i = 0; i < ones; ++i) shape.push_back(PrimExpr(1));
  return te::compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr index = te::load(found, Array<PrimExpr>(at.begin(), at.end() - static_cast<long>(ones)));
        return last ? index : last_index - index;
      },
      "place", "elemwise");
}

namespace {

/// True for a costly element-wise function of rows with several consumers: inlined, it would be computed by each of them.
bool is_shared_elementwise(const te::Schedule& sch, const te::ComputeOp* op, const Array<IterVar>& rows) {
  if (!op->reduce_axis.empty() || op->body.size() != 1 || op->axis.size() != rows.size() + 1) return false;
  for (size_t i = 0; i < rows.size(); ++i)
    if (!is_same(op->axis[i]->dom->extent, rows[i]->dom->extent)) return false;
  bool is_costly = false;
  walk(op->body[0], [&](const Call*) { is_costly = true; });
  int consumers = 0;
  for (const te::Stage& stage : sch->stages)
    for (const te::Tensor& input : te::input_tensors(stage->op.get())) consumers += input->op.get() == op;
  return is_costly && consumers > 1;
}

}  // namespace

void attach_rows(const te::Schedule& sch, const te::Stage& consumer, const IterVar& row, const Target& target) {
  const int64_t bytes = machine_of(target)->vector_bytes;
  const Array<IterVar> rows = reduced_rows(sch);
  for (size_t i = sch->stages.size(); i-- > 0;) {
    const te::Stage& stage = sch->stages[i];
    auto* made = stage->op.as<te::ComputeOp>();
    if (!made || stage->is_output || stage->attach_type == te::AttachType::Scope) continue;
    const bool is_values = made->tag == kValues || is_shared_elementwise(sch, made, rows);
    const bool is_row = is_values || has_tag(made, {kParts, kHalves, kTotal});
    if (!is_row && !is_for_rows(made, rows)) continue;
    te::compute_at(stage, consumer, row);
    if (!is_row || made->tag == kTotal) continue;
    IterVar along = made->axis.back();
    const int64_t lanes = bytes / te::output(stage->op, 0)->dtype.bytes();
    if (is_values) {
      vectorize_row(stage, along, lanes);
      continue;
    }
    if (made->tag == kParts) {
      te::reorder(stage, with_last(made->reduce_axis, along));
      te::pragma(stage, made->reduce_axis.back(), kPartitionHint, number(1));
    }
    te::set_loop_kind(stage, along, IterType::Vectorized);
  }
}

te::Schedule schedule_rows(const Array<te::Tensor>& outs, const Target& target) {
  te::Schedule sch = schedule_inlined(outs);
  te::Stage last = te::stage_of(sch, outs[0]->op);
  auto* op = last->op.as<te::ComputeOp>();
  const Array<IterVar> rows = reduced_rows(sch);
  if (outs.size() != 1 || !op || !op->reduce_axis.empty() || rows.empty() || op->axis.empty())
    return schedule_for(outs, target);
  // the result is a number for each row, or a row for each, of one or several axes
  const bool is_number = elements(op->axis) == elements(rows) && have_same_dynamic(op->axis, rows);
  if (!is_number && op->axis.size() <= rows.size()) return schedule_for(outs, target);
  const auto middle = op->axis.begin() + static_cast<long>(is_number ? op->axis.size() : rows.size());
  const Array<IterVar> lead(op->axis.begin(), middle), along(middle, op->axis.end());
  if (elements(lead) != elements(rows) || !have_same_dynamic(lead, rows)) return schedule_for(outs, target);
  IterVar row = te::fuse(last, lead);
  if (!is_number) {
    const int64_t lanes = machine_of(target)->vector_bytes / outs[0]->dtype.bytes();
    vectorize_row(last, along.back(), lanes);
  }
  if (has_dynamic(rows) || elements(rows) * kMinRow >= ParallelThreshold::elements)
    te::set_loop_kind(last, row, IterType::Parallelized);
  attach_rows(sch, last, row, target);
  return sch;
}

}  // namespace tessera::topi
