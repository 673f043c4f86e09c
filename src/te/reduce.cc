#include "te/reduce.h"

#include "ir/prim_ops.h"

namespace tessera::te {

PrimExpr reduce(const PrimExpr& source, const Array<IterVar>& axes,
                const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine, const PrimExpr& identity) {
  Var x = make_var("x", source.dtype()), y = make_var("y", source.dtype());
  Reduce node;
  node.dtype = source.dtype();
  node.combiner =
      make(CommReducerNode{.lhs = {x}, .rhs = {y}, .result = {combine(x, y)}, .identity_element = {identity}});
  node.source = {source};
  node.axis = axes;
  node.condition = bool_imm(true);
  return make(std::move(node));
}

PrimExpr sum(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return a + b; }, make_zero(source.dtype()));
}
PrimExpr prod(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return a * b; }, make_const(source.dtype(), 1));
}
PrimExpr min_over(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return min(a, b); }, max_value(source.dtype()));
}
PrimExpr max_over(const PrimExpr& source, const Array<IterVar>& axes) {
  return reduce(source, axes, [](PrimExpr a, PrimExpr b) { return max(a, b); }, min_value(source.dtype()));
}

}  // namespace tessera::te
