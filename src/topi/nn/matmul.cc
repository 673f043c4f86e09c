#include "topi/nn/matmul.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/broadcast.h"
#include "topi/nn/axes.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

const char* suffix(const MatmulOptions& options) {
  if (options.transpose_a) return options.transpose_b ? "TT" : "TN";
  return options.transpose_b ? "NT" : "NN";
}

/// `leading` and then row and column, or column and row when the operand is stored transposed.
Array<PrimExpr> indices_of(Array<PrimExpr> leading, const PrimExpr& row, const PrimExpr& column, bool is_transposed) {
  leading.push_back(is_transposed ? column : row);
  leading.push_back(is_transposed ? row : column);
  return leading;
}

te::Tensor contract(const std::string& name, const char* tag, const Array<IterVar>& axes, const IterVar& k,
                    const PrimExpr& x, const PrimExpr& y, const te::Tensor& weight, DataType dtype) {
  PrimExpr element = te::sum(cast(dtype, x) * cast(dtype, y), {k});
  Map<String, ObjectRef> attrs{{"layout_free_placeholders", Array<te::Tensor>{weight}}};
  return te::output(te::compute_op(name, tag, attrs, axes, {element}), 0);
}

te::Tensor with_bias(const te::Tensor& out, const te::Tensor& bias) {
  if (!bias) return out;
  return compute(
      out->shape, "i",
      [&](const Array<PrimExpr>& at) {
        return te::load(out, at) + tessera::cast(out->dtype, te::load(bias, {at.back()}));
      },
      "compute", kBroadcast);
}

}  // namespace

te::Tensor matmul(const te::Tensor& a, const te::Tensor& b, const te::Tensor& bias, const MatmulOptions& options,
                  bool is_dense) {
  size_t rank = a->shape.size();
  if (rank == 1 && options.transpose_a) throw Error(ValueError) << "matmul: a vector cannot be transposed";
  Array<PrimExpr> shape = a->shape;
  if (options.transpose_a) shape.set(rank - 2, a->shape[rank - 1]);
  shape.set(rank - 1, b->shape[options.transpose_b ? 0 : 1]);
  IterVar k = reduce_over("k", b->shape[options.transpose_b ? 1 : 0]);
  Array<IterVar> axes;
  Array<PrimExpr> at_a;
  for (size_t i = 0; i < rank; ++i) {
    axes.push_back(data_axis(rank == 2 ? (i ? "j" : "i") : "i" + std::to_string(i), shape[i]));
    if (i + 2 < rank) at_a.push_back(axes.back()->var);
  }
  if (rank == 1) at_a.push_back(k->var);
  else at_a = indices_of(at_a, axes[rank - 2]->var, k->var, options.transpose_a);
  Array<PrimExpr> at_b = indices_of({}, k->var, axes.back()->var, options.transpose_b);
  te::Tensor out = contract(std::string("T_matmul_") + suffix(options), is_dense ? "dense" : "matmul", axes, k,
                            te::load(a, at_a), te::load(b, at_b), b, options.out_dtype);
  return with_bias(out, bias);
}

te::Tensor dense(const te::Tensor& data, const te::Tensor& weight, const te::Tensor& bias, DataType out_dtype) {
  return matmul(data, weight, bias, {.transpose_b = true, .out_dtype = out_dtype}, true);
}

te::Tensor dense_pack(const te::Tensor& data, const te::Tensor& weight, const te::Tensor& bias, DataType out_dtype,
                      PrimExpr units) {
  PrimExpr block = weight->shape[2];
  if (!units.defined()) units = weight->shape[0] * block;
  IterVar k = reduce_over("k", data->shape.back());
  Array<IterVar> axes;
  Array<PrimExpr> at_data;
  const size_t rank = data->shape.size();
  for (size_t i = 0; i + 1 < rank; ++i) {
    axes.push_back(data_axis(rank == 2 ? "y" : "y" + std::to_string(i), data->shape[i]));
    at_data.push_back(axes.back()->var);
  }
  axes.push_back(data_axis("x", units));
  PrimExpr unit = axes.back()->var, depth = k->var;
  at_data.push_back(depth);
  Array<PrimExpr> at{floordiv(unit, block), depth, floormod(unit, block)};
  if (weight->shape.size() == 4) {
    at.set(1, floordiv(depth, weight->shape[3]));
    at.push_back(floormod(depth, weight->shape[3]));
  }
  te::Tensor out =
      contract("compute", "dense_pack", axes, k, te::load(data, at_data), te::load(weight, at), weight, out_dtype);
  return with_bias(out, bias);
}

te::Tensor batch_matmul(const te::Tensor& x, const te::Tensor& y, const MatmulOptions& options) {
  Array<PrimExpr> batch = broadcast_shape({x->shape[0]}, {y->shape[0]});
  PrimExpr rows = x->shape[options.transpose_a ? 2 : 1], columns = y->shape[options.transpose_b ? 1 : 2];
  IterVar k = reduce_over("k", x->shape[options.transpose_a ? 1 : 2]);
  Array<IterVar> axes{data_axis("b", batch[0]), data_axis("i", rows), data_axis("j", columns)};
  auto batch_of = [&](const te::Tensor& operand) {
    return broadcast_indices({axes[0]->var}, batch, {operand->shape[0]});
  };
  PrimExpr left = te::load(x, indices_of(batch_of(x), axes[1]->var, k->var, options.transpose_a));
  PrimExpr right = te::load(y, indices_of(batch_of(y), k->var, axes[2]->var, options.transpose_b));
  return contract(std::string("T_batch_matmul_") + suffix(options), "batch_matmul", axes, k, left, right, y,
                  options.out_dtype);
}

}  // namespace tessera::topi
