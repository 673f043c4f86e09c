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

/// `c ? load : 0` apart, or a load; other values stay one.
GemmOperand operand_of(const PrimExpr& factor) {
  GemmOperand out{.value = without_cast(factor)};
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

}  // namespace

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
  return store_with_epilogue(block, epilogue, at, cast(dtype, value));
}

Stmt store_with_epilogue(const BlockNode* block, const BlockNode* epilogue, const Map<Var, PrimExpr>& at,
                         const PrimExpr& result) {
  auto* sums = block->body.as<BufferStore>();
  Array<PrimExpr> indices;
  for (const PrimExpr& index : sums->indices) indices.push_back(substitute(index, at));
  if (!epilogue) return make(BufferStore{.buffer = sums->buffer, .value = result, .indices = indices});
  Map<Var, PrimExpr> values;
  for (size_t d = 0; d < indices.size(); ++d) values.set(epilogue->iter_vars[d]->var, indices[d]);
  Stmt body = rewrite(epilogue->body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    return load->buffer.same_as(sums->buffer) ? result : PrimExpr(self.children(load));
  });
  return substitute(body, values);
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
  if (out.epilogue_ref.key) {
    out.epilogue = state.find(out.epilogue_ref).block();
    if (!out.epilogue->body.as<BufferStore>()) out.epilogue = nullptr, out.epilogue_ref = {};
  }
  return out;
}

}  // namespace tessera::topi
