#include "te/reduce.h"

#include "ir/prim/ops.h"
#include "tir/loops/reduction.h"

namespace tessera::te {
namespace {

bool has_infinity(DataType dtype) { return dtype.code == DataType::kFloat || dtype.code == DataType::kBFloat; }

}  // namespace

PrimExpr reduce(const PrimExpr& source, const Array<IterVar>& axes,
                const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine, const PrimExpr& identity) {
  Var x = make_var("x", source.dtype()), y = make_var("y", source.dtype());
  CommReducer combiner =
      make(CommReducerNode{.lhs = {x}, .rhs = {y}, .result = {combine(x, y)}, .identity_element = {identity}});
  return reduce(combiner, {source}, axes, 0);
}

PrimExpr reduce(const CommReducer& combiner, const Array<PrimExpr>& source, const Array<IterVar>& axes, int index) {
  return loops::reduce_one(combiner, source, axes, bool_imm(true), static_cast<size_t>(index));
}

PrimExpr least_of(DataType dtype) { return has_infinity(dtype) ? -infinity(dtype) : min_value(dtype); }
PrimExpr greatest_of(DataType dtype) { return has_infinity(dtype) ? infinity(dtype) : max_value(dtype); }

PrimExpr sum(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return a + b; }, make_zero(source.dtype()));
}
PrimExpr prod(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return a * b; }, make_const(source.dtype(), 1));
}
PrimExpr max_over(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return max(a, b); }, least_of(source.dtype()));
}
PrimExpr min_over(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return min(a, b); }, greatest_of(source.dtype()));
}

}  // namespace tessera::te
