#include "topi/nn/dense.h"

#include "ir/prim_ops.h"
#include "te/reduce.h"
#include "topi/operand.h"

namespace tessera::topi {

te::Tensor dense(const te::Tensor& data, const te::Tensor& weight, const te::Tensor& bias, DataType out_dtype) {
  Array<PrimExpr> shape = data->shape;
  shape.set(shape.size() - 1, weight->shape[0]);
  IterVar k = te::reduce_axis(make_range(0, weight->shape[1]), "k");
  Array<IterVar> axes;
  Array<PrimExpr> at, at_data;
  for (size_t i = 0; i < shape.size(); ++i) {
    std::string name = shape.size() == 2 ? (i ? "j" : "i") : "i" + std::to_string(i);
    Var var = make_var(name, shape[i].dtype());
    axes.push_back(make_iter_var(make_range(make_zero(var->dtype), shape[i]), var, IterType::DataPar));
    at.push_back(var);
    at_data.push_back(i + 1 < shape.size() ? var : k->var);
  }
  auto cast = [&](const PrimExpr& e) { return tessera::cast(out_dtype, e); };
  PrimExpr product = cast(te::load(data, at_data)) * cast(te::load(weight, {at.back(), k->var}));
  te::Operation op = te::compute_op("T_matmul_NT", "dense", {{"layout_free_placeholders", Array<te::Tensor>{weight}}},
                                    axes, {te::sum(product, {k})});
  te::Tensor out = te::output(op, 0);
  if (!bias) return out;
  return compute(
      shape, "i", [&](const Array<PrimExpr>& i) { return te::load(out, i) + cast(te::load(bias, {i.back()})); },
      "T_add", kBroadcast);
}

}  // namespace tessera::topi
