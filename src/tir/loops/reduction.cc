#include "tir/loops/reduction.h"

#include "ir/prim/ops.h"

namespace tessera::loops {

Array<PrimExpr> reduction_start(const Reduce* reduce) {
  return reduce->init.empty() ? reduce->combiner->identity_element : reduce->init;
}

Array<PrimExpr> reduction_step(const Reduce* reduce, const Array<PrimExpr>& current) {
  return (*reduce->combiner)(current, reduce->source);
}

PrimExpr reduce_one(const CommReducer& combiner, const Array<PrimExpr>& source, const Array<IterVar>& axes,
                    const PrimExpr& condition, size_t number) {
  Reduce node;
  node.dtype = source[number].dtype();
  node.combiner = combiner;
  node.source = source;
  node.axis = axes;
  node.condition = condition;
  node.value_index = static_cast<int32_t>(number);
  return make(std::move(node));
}

Array<PrimExpr> reduce_all(const CommReducer& combiner, const Array<PrimExpr>& source, const Array<IterVar>& axes,
                           const PrimExpr& condition) {
  Array<PrimExpr> out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (!axes.empty()) out.push_back(reduce_one(combiner, source, axes, condition, i));
    else if (is_one(condition)) out.push_back(source[i]);
    else out.push_back(if_then_else(condition, source[i], combiner->identity_element[i]));
  }
  return out;
}

Stmt store_together(const Array<PrimExpr>& values, const std::function<Stmt(size_t, PrimExpr)>& store,
                    const std::function<bool(const PrimExpr&, size_t)>& reads) {
  bool is_entangled = false;
  for (size_t later = 1; later < values.size(); ++later)
    for (size_t earlier = 0; earlier < later; ++earlier) is_entangled = is_entangled || reads(values[later], earlier);
  std::vector<Stmt> stores;
  std::vector<Var> held;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_entangled) held.push_back(make_var("new" + std::to_string(i), values[i].dtype()));
    stores.push_back(store(i, is_entangled ? PrimExpr(held[i]) : values[i]));
  }
  Stmt body = sequence(stores);
  for (size_t i = held.size(); i-- > 0;) body = make(LetStmt{.var = held[i], .value = values[i], .body = body});
  return body;
}

}  // namespace tessera::loops
