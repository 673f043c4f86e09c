#include "tir/expr.h"

#include "ir/rewrite.h"

namespace tessera {

const char* iter_type_name(IterType type) {
  static constexpr const char* kNames[] = {"DataPar",  "ThreadIndex", "CommReduce",   "Ordered",   "Opaque",
                                           "Unrolled", "Vectorized",  "Parallelized", "Tensorized"};
  return kNames[static_cast<int>(type)];
}

IterVar make_iter_var(Range dom, Var var, IterType type, String thread_tag) {
  return make(IterVarNode{
      .dom = std::move(dom), .var = std::move(var), .iter_type = type, .thread_tag = std::move(thread_tag)});
}

Array<PrimExpr> CommReducerNode::operator()(const Array<PrimExpr>& a, const Array<PrimExpr>& b) const {
  ICHECK(a.size() == lhs.size() && b.size() == rhs.size()) << "a reducer combines tuples of its own size";
  Map<Var, PrimExpr> values;
  for (size_t i = 0; i < lhs.size(); ++i) {
    values.set(lhs[i], a[i]);
    values.set(rhs[i], b[i]);
  }
  return substitute(result, values);
}

namespace {
[[maybe_unused]] const bool iter_var_converts =
    (register_prim_expr_conversion(
         IterVarNode::info,
         [](const Object* object) { return PrimExpr(static_cast<const IterVarNode*>(object)->var); }),
     true);
}  // namespace

}  // namespace tessera
