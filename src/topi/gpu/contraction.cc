#include "topi/gpu/contraction.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/accumulation.h"
#include "topi/cpu/reduction_block.h"
#include "topi/gpu/nest.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

constexpr int64_t kAccessBytes = 16;

bool is_zero_value(const PrimExpr& value) {
  auto* constant = value.as<FloatImm>();
  return constant ? constant->value == 0 : is_zero(value);
}

PrimExpr without_cast(const PrimExpr& value) {
  auto* widened = value.as<Cast>();
  return widened ? widened->value : value;
}

/// `value * 0.5` of floats apart.
PrimExpr without_scale(const PrimExpr& value, double* scale) {
  auto* multiply = value.as<Mul>();
  if (!multiply || !value.dtype().is_floating()) return value;
  auto *left = multiply->a.as<FloatImm>(), *right = multiply->b.as<FloatImm>();
  if (!left && !right) return value;
  *scale *= left ? left->value : right->value;
  return without_scale(left ? multiply->b : multiply->a, scale);
}

/// `c ? load : 0` apart, or a load; other values stay one.
GemmOperand operand_of(const PrimExpr& factor) {
  double scale = 1;
  GemmOperand out{.value = without_scale(without_cast(factor), &scale)};
  out.scale = scale;
  out.dtype = out.value.dtype();
  out.condition = bool_imm(true);
  PrimExpr value = out.value;
  auto* call = value.as<Call>();
  if (builtin::is(call, builtin::if_then_else()) && is_zero_value(call->args[2])) {
    out.condition = call->args[0];
    value = call->args[1];
  } else if (auto* choice = value.as<Select>(); choice && is_zero_value(choice->false_value)) {
    out.condition = choice->condition;
    value = choice->true_value;
  }
  out.load = value.as<BufferLoad>();
  return out;
}

bool varies(const PrimExpr& value, const Var& var) { return uses_var(value, var); }

void add_axis(GemmAxes* axes, const IterVar& axis) {
  axes->vars.push_back(axis->var);
  axes->extents.push_back(axis->dom->extent);
  const int64_t* extent = as_int(axis->dom->extent);
  axes->known = extent && axes->known >= 0 ? axes->known * *extent : -1;
}

/// How far apart neighbours along an axis are; nothing where that differs, or is known only at run time.
std::optional<int64_t> step_along(const GemmOperand& operand, const Var& axis) {
  if (!operand.load) return std::nullopt;
  return stride(operand.load->buffer, operand.load->indices, axis);
}

/// The axis along which neighbours of the operand lie together becomes the last of them.
void put_neighbours_last(const GemmOperand& operand, GemmAxes* axes) {
  for (size_t i = 0; i + 1 < axes->vars.size(); ++i)
    if (step_along(operand, axes->vars[i]) == 1) {
      std::rotate(axes->vars.begin() + static_cast<ptrdiff_t>(i), axes->vars.begin() + static_cast<ptrdiff_t>(i) + 1,
                  axes->vars.end());
      std::rotate(axes->extents.begin() + static_cast<ptrdiff_t>(i),
                  axes->extents.begin() + static_cast<ptrdiff_t>(i) + 1, axes->extents.end());
      return;
    }
}

class Neighbourhood {
 public:
  Neighbourhood(const GpuContraction& contraction, const GemmOperand& operand)
      : contraction_(contraction), operand_(operand) {}

  /// Neighbours along the last of `axes` that one access may take.
  int64_t lanes(const GemmAxes& axes) const {
    if (axes.vars.empty() || step_along(operand_, axes.vars.back()) != 1 || !as_int(axes.extents.back())) return 0;
    int64_t out = kAccessBytes / operand_.dtype.bytes();
    auto reduce_to = [&](const std::optional<int64_t>& step) {
      while (out > 1 && (!step || *step % out != 0)) out /= 2;
    };
    reduce_to(*as_int(axes.extents.back()));
    if (varies(operand_.condition, axes.vars.back())) out = 1;
    Map<Var, PrimExpr> zeros;
    for (const GemmAxes* all : {&contraction_.batch, &contraction_.m, &contraction_.n, &contraction_.k})
      for (const Var& var : all->vars) {
        zeros.set(var, make_zero(var->dtype));
        if (!var.same_as(axes.vars.back())) reduce_to(step_along(operand_, var));
      }
    const PrimExpr base = arith::Analyzer().simplify(substitute(operand_.index, zeros));
    reduce_to(as_int(base) ? std::optional(*as_int(base)) : std::nullopt);
    return out;
  }

 private:
  const GpuContraction& contraction_;
  const GemmOperand& operand_;
};

/// Whether neighbours along all `axes`, counted as one number, are equally far apart, and the condition is the same for all.
bool is_linear(const GemmOperand& operand, const GemmAxes& axes) {
  int64_t inner = 0;
  for (size_t i = axes.vars.size(); i-- > 0;) {
    auto step = step_along(operand, axes.vars[i]);
    const int64_t* extent = as_int(axes.extents[i]);
    if (!step || !extent || varies(operand.condition, axes.vars[i])) return false;
    if (i + 1 < axes.vars.size() && *step != inner) return false;
    inner = *step * *extent;
  }
  return true;
}

void look_at_memory(const GpuContraction& contraction, const GemmAxes& rows, GemmOperand* operand) {
  if (!operand->load) return;
  operand->flat = as_one_dimension(operand->load->buffer);
  if (!operand->flat) return;
  operand->index = flat_index(operand->load->indices, operand->load->buffer->shape);
  const Neighbourhood neighbours(contraction, *operand);
  operand->k_lanes = neighbours.lanes(contraction.k);
  operand->row_lanes = neighbours.lanes(rows);
  operand->is_linear_in_k = is_linear(*operand, contraction.k);
  operand->is_linear_in_row = is_linear(*operand, rows);
}

/// Numbers by which digits of `axis` are taken in `value`, from the smallest on, each a multiple of the one before.
std::vector<int64_t> digit_sizes(const PrimExpr& value, const Var& axis, int64_t extent) {
  std::vector<int64_t> found;
  auto note = [&](const PrimExpr& number, const PrimExpr& by) {
    const int64_t* size = as_int(by);
    if (size && *size > 1 && *size < extent && extent % *size == 0 && uses_var(number, axis)) found.push_back(*size);
  };
  walk(value, [&](const FloorDiv* op) { note(op->a, op->b); });
  walk(value, [&](const FloorMod* op) { note(op->a, op->b); });
  std::sort(found.begin(), found.end());
  std::vector<int64_t> out;
  for (int64_t size : found)
    if (out.empty() || (size != out.back() && size % out.back() == 0)) out.push_back(size);
  return out;
}

/// Which axes of the epilogue are at an element of the results: where its load says their positions by sums of axes, as
/// b * heads + h, the axes are digits of them. Empty where it says so of no axis, or twice.
std::optional<Map<Var, PrimExpr>> epilogue_axes(const BlockNode* epilogue, const Buffer& results,
                                                const Array<PrimExpr>& at) {
  const BufferLoad* load = nullptr;
  bool is_one_element = true;
  walk(epilogue->body, [&](const BufferLoad* other) {
    if (!other->buffer.same_as(results)) return;
    if (load)
      for (size_t i = 0; i < load->indices.size(); ++i)
        is_one_element = is_one_element && arith::Analyzer().can_prove_equal(load->indices[i], other->indices[i]);
    load = other;
  });
  if (!load || !is_one_element) return std::nullopt;
  Map<Var, PrimExpr> out;
  arith::Analyzer analyzer;
  for (const IterVar& axis : epilogue->iter_vars) analyzer.bind(axis->var, axis->dom);
  for (size_t i = 0; i < load->indices.size(); ++i) {
    PrimExpr index = analyzer.simplify(load->indices[i]), rest = at[i];
    // the digits of this position, the one of the longest step first
    std::vector<std::pair<int64_t, IterVar>> digits;
    PrimExpr sum = make_zero(index.dtype());
    for (const IterVar& axis : epilogue->iter_vars) {
      if (!uses_var(index, axis->var)) continue;
      const PrimExpr next = substitute(index, Map<Var, PrimExpr>{{axis->var, axis->var + 1}});
      const PrimExpr difference = analyzer.simplify(next - index);
      const int64_t* step = as_int(difference);
      if (!step || *step < 1 || out.count(axis->var)) return std::nullopt;
      digits.emplace_back(*step, axis);
      sum = sum + cast(index.dtype(), axis->var) * make_const(index.dtype(), static_cast<double>(*step));
    }
    if (!analyzer.can_prove_equal(sum, index)) return std::nullopt;
    std::sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<PrimExpr> extents;
    int64_t step = 1;
    for (size_t d = digits.size(); d-- > 0;) {
      const int64_t* extent = as_int(digits[d].second->dom->extent);
      if (digits[d].first != step || (!extent && d > 0)) return std::nullopt;
      if (extent) step *= *extent;
    }
    for (const auto& digit : digits) extents.push_back(digit.second->dom->extent);
    const std::vector<PrimExpr> values = digits_of(rest, extents);
    for (size_t d = 0; d < digits.size(); ++d)
      out.set(digits[d].second->var, cast(digits[d].second->var->dtype, values[d]));
  }
  for (const IterVar& axis : epilogue->iter_vars) {
    if (out.count(axis->var)) continue;
    if (!is_one(axis->dom->extent)) return std::nullopt;
    out.set(axis->var, make_zero(axis->var->dtype));
  }
  return out;
}

/// The only consumer, where it stores one element for each of the results, moved.
schedule::BlockRef moving_epilogue_of(const schedule::State& state, const schedule::BlockRef& ref,
                                      const BlockNode* block) {
  std::vector<schedule::BlockRef> consumers = schedule::get_consumers(state, ref);
  if (consumers.size() != 1) return {};
  const schedule::Cursor cursor = state.find(consumers[0]);
  const BlockNode* epilogue = cursor.block();
  if (is_scheduled(cursor) || plain_extents(cursor).empty() || !epilogue->body.as<BufferStore>()) return {};
  const Buffer& results = block->body.as<BufferStore>()->buffer;
  PrimExpr of_epilogue = make_const(DataType::Int(64), 1), of_results = of_epilogue;
  for (const IterVar& axis : epilogue->iter_vars)
    of_epilogue = of_epilogue * cast(DataType::Int(64), axis->dom->extent);
  for (const PrimExpr& extent : results->shape) of_results = of_results * cast(DataType::Int(64), extent);
  if (!arith::Analyzer().can_prove_equal(of_epilogue, of_results)) return {};
  return epilogue_axes(epilogue, results, block->body.as<BufferStore>()->indices) ? consumers[0] : schedule::BlockRef();
}

}  // namespace

BatchedOperand in_batch_digits(const GpuContraction& c, const GemmOperand& operand, const GemmAxes& rows) {
  BatchedOperand out{operand, {}};
  bool has_digits = false;
  walk(operand.value, [&](const FloorDiv*) { has_digits = true; });
  walk(operand.value, [&](const FloorMod*) { has_digits = true; });
  if (!operand.load || c.is_dynamic() || !has_digits) return {operand, c.batch};
  Map<Var, PrimExpr> at;
  arith::Analyzer analyzer;
  for (const GemmAxes* axes : {&c.m, &c.n, &c.k})
    for (size_t i = 0; i < axes->vars.size(); ++i)
      analyzer.bind(axes->vars[i], make_range(make_zero(axes->vars[i]->dtype), axes->extents[i]));
  for (size_t i = 0; i < c.batch.vars.size(); ++i) {
    const Var& axis = c.batch.vars[i];
    const int64_t extent = *as_int(c.batch.extents[i]);
    analyzer.bind(axis, make_range(make_zero(axis->dtype), c.batch.extents[i]));
    std::vector<int64_t> steps = digit_sizes(analyzer.simplify(operand.value), axis, extent);
    steps.insert(steps.begin(), 1);
    PrimExpr sum = make_zero(axis->dtype);
    for (size_t d = steps.size(); d-- > 0;) {
      const int64_t above = d + 1 < steps.size() ? steps[d + 1] : extent;
      const Var digit = steps.size() == 1 ? axis : make_var("digit", axis->dtype);
      out.batch.vars.push_back(digit);
      out.batch.extents.push_back(make_const(axis->dtype, above / steps[d]));
      sum = sum + digit * make_const(axis->dtype, steps[d]);
    }
    if (steps.size() > 1) at.set(axis, sum);
  }
  out.batch.known = c.batch.known;
  for (size_t i = 0; i < out.batch.vars.size(); ++i)
    analyzer.bind(out.batch.vars[i], make_range(make_zero(out.batch.vars[i]->dtype), out.batch.extents[i]), true);
  out.operand = operand_of(analyzer.simplify(substitute(operand.value, at)));
  out.operand.scale = operand.scale;
  GpuContraction in_digits = c;
  in_digits.batch = out.batch;
  look_at_memory(in_digits, rows, &out.operand);
  return out;
}

PrimExpr GemmAxes::extent() const { return product_of(extents); }

Stmt GpuContraction::store(const PrimExpr& batch_index, const PrimExpr& i, const PrimExpr& j,
                           const PrimExpr& value) const {
  Map<Var, PrimExpr> at;
  for (const IterVar& axis : block->iter_vars) at.set(axis->var, make_zero(axis->var->dtype));
  auto set = [&](const GemmAxes& axes, const PrimExpr& index) {
    std::vector<PrimExpr> digits = digits_of(index, axes.extents);
    for (size_t d = 0; d < digits.size(); ++d) at.set(axes.vars[d], cast(axes.vars[d]->dtype, digits[d]));
  };
  set(batch, batch_index);
  set(m, i);
  set(n, j);
  const PrimExpr scaled = scale() == 1 ? value : value * make_const(value.dtype(), scale());
  return store_with_epilogue(block, epilogue, at, cast(dtype, scaled));
}

bool GpuContraction::stores_columns_together() const {
  auto* results = block->body.as<BufferStore>();
  if (n.vars.size() != 1 || !results->indices.back().same_as(n.vars[0])) return false;
  if (!epilogue) return true;
  auto axes = epilogue_axes(epilogue, results->buffer, results->indices);
  auto* last = epilogue->body.as<BufferStore>()->indices.back().as<VarNode>();
  return axes && last && axes->count(Var(last)) && (*axes)[Var(last)].same_as(n.vars[0]);
}

Stmt store_with_epilogue(const BlockNode* block, const BlockNode* epilogue, const Map<Var, PrimExpr>& at,
                         const PrimExpr& result) {
  auto* sums = block->body.as<BufferStore>();
  Array<PrimExpr> indices;
  for (const PrimExpr& index : sums->indices) indices.push_back(substitute(index, at));
  if (!epilogue) return make(BufferStore{.buffer = sums->buffer, .value = result, .indices = indices});
  std::optional<Map<Var, PrimExpr>> values = epilogue_axes(epilogue, sums->buffer, indices);
  ICHECK(values) << "an epilogue reads each result once";
  Stmt body = rewrite(epilogue->body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    return load->buffer.same_as(sums->buffer) ? result : PrimExpr(self.children(load));
  });
  return substitute(body, *values);
}

std::optional<GpuContraction> as_gpu_contraction(const schedule::State& state, const schedule::BlockRef& ref) {
  std::optional<Reduction> reduction = as_reduction(state.find(ref), true);
  if (!reduction) return std::nullopt;
  std::vector<loops::Accumulated> sums = loops::match_accumulation(reduction->block);
  if (sums.size() != 1 || !sums[0].value.as<Add>() || !loops::begins_with_identity(sums[0])) return std::nullopt;
  auto* multiply = sums[0].element.as<Mul>();
  if (!multiply || !reduction->block->body.as<BufferStore>()) return std::nullopt;
  GpuContraction out{.ref = ref, .block = reduction->block};
  out.dtype = sums[0].buffer->dtype;
  out.sum = out.dtype.is_floating() && out.dtype.bits < 32 ? DataType::Float(32) : out.dtype;
  Map<Var, PrimExpr> units;
  for (const IterVar& axis : out.block->iter_vars)
    if (is_one(axis->dom->extent)) units.set(axis->var, make_zero(axis->var->dtype));
  GemmOperand x = operand_of(substitute(multiply->a, units)), y = operand_of(substitute(multiply->b, units));

  // what varies along the last axis is the matrix on the right
  for (size_t i = out.block->iter_vars.size(); i-- > 0;) {
    const IterVar& axis = out.block->iter_vars[i];
    if (axis->iter_type != IterType::DataPar || is_one(axis->dom->extent)) continue;
    if (varies(x.value, axis->var) && !varies(y.value, axis->var)) std::swap(x, y);
    break;
  }
  out.a = x, out.b = y;
  for (const IterVar& axis : out.block->iter_vars) {
    if (is_one(axis->dom->extent)) continue;
    const bool in_a = varies(x.value, axis->var), in_b = varies(y.value, axis->var);
    if (axis->iter_type != IterType::DataPar) add_axis(&out.k, axis);
    else if (in_a && in_b) add_axis(&out.batch, axis);
    else if (in_a) add_axis(&out.m, axis);
    else if (in_b) add_axis(&out.n, axis);
    else return std::nullopt;
  }
  if (out.m.vars.empty() || out.n.vars.empty() || out.k.vars.empty()) return std::nullopt;
  put_neighbours_last(out.a, &out.k);
  if (step_along(out.a, out.k.vars.back()) != 1) put_neighbours_last(out.b, &out.k);
  look_at_memory(out, out.m, &out.a);
  look_at_memory(out, out.n, &out.b);

  out.epilogue_ref = epilogue_of(state, ref, *reduction);
  if (!out.epilogue_ref.key) out.epilogue_ref = moving_epilogue_of(state, ref, out.block);
  if (out.epilogue_ref.key) {
    out.epilogue = state.find(out.epilogue_ref).block();
    if (!out.epilogue->body.as<BufferStore>()) out.epilogue = nullptr, out.epilogue_ref = {};
  }
  return out;
}

}  // namespace tessera::topi
