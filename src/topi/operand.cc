#include "topi/operand.h"

#include "ir/prim/ops.h"

namespace tessera::topi {

te::Tensor compute(const Array<PrimExpr>& shape, const std::string& prefix,
                   const std::function<PrimExpr(const Array<PrimExpr>&)>& body, const String& name, const String& tag) {
  Array<IterVar> axes;
  Array<PrimExpr> indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    Var var = make_var(prefix + std::to_string(i), shape[i].dtype());
    axes.push_back(make_iter_var(make_range(make_zero(shape[i].dtype()), shape[i]), var, IterType::DataPar));
    indices.push_back(var);
  }
  return te::output(te::compute_op(name, tag, {}, axes, {body(indices)}), 0);
}

}  // namespace tessera::topi
