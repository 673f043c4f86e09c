// Contractions of tensors over some of their dimensions, as NumPy means them.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

using Indices = Array<PrimExpr>;

te::Tensor matmul(const te::Tensor& a, const te::Tensor& b, bool transpose_a, bool transpose_b) {
  if (a->shape.size() != 2 || b->shape.size() != 2) throw Error(ValueError) << "matmul: both operands are matrices";
  PrimExpr depth = a->shape[transpose_a ? 0 : 1];
  IterVar k = te::reduce_axis(make_range(make_zero(depth.dtype()), depth), "k");
  return compute(
      {a->shape[transpose_a ? 1 : 0], b->shape[transpose_b ? 0 : 1]}, "ax",
      [&](const Indices& at) {
        auto element = [](const te::Tensor& t, const PrimExpr& row, const PrimExpr& column, bool turned) {
          return te::load(t, turned ? Indices{column, row} : Indices{row, column});
        };
        return te::sum(element(a, at[0], k->var, transpose_a) * element(b, k->var, at[1], transpose_b), {k});
      },
      "T_matmul", "matmul");
}

/// Dimension `a_axes[i]` of a and `b_axes[i]` of b are summed together; the rest of a, then of b, is the result's.
te::Tensor tensordot(const te::Tensor& a, const te::Tensor& b, const std::vector<int>& a_axes,
                     const std::vector<int>& b_axes) {
  if (a_axes.size() != b_axes.size()) throw Error(ValueError) << "tensordot: as many axes of a as of b are summed";
  Array<IterVar> summed;
  std::vector<PrimExpr> a_at(a->shape.size()), b_at(b->shape.size());
  for (size_t i = 0; i < a_axes.size(); ++i) {
    PrimExpr extent = a->shape[a_axes[i]];
    summed.push_back(te::reduce_axis(make_range(make_zero(extent.dtype()), extent), "k" + std::to_string(i)));
    a_at[a_axes[i]] = b_at[b_axes[i]] = summed.back()->var;
  }
  Indices shape;
  for (size_t i = 0; i < a_at.size(); ++i)
    if (!a_at[i]) shape.push_back(a->shape[i]);
  for (size_t i = 0; i < b_at.size(); ++i)
    if (!b_at[i]) shape.push_back(b->shape[i]);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        size_t next = 0;
        for (PrimExpr& index : a_at) index = index ? index : at[next++];
        for (PrimExpr& index : b_at) index = index ? index : at[next++];
        PrimExpr product = te::load(a, a_at) * te::load(b, b_at);
        return summed.empty() ? product : te::sum(product, summed);
      },
      "T_tensordot", "matmul");
}

std::vector<int> numbers(const Array<PrimExpr>& list, size_t rank) {
  std::vector<int> out;
  for (const PrimExpr& item : list) {
    const int64_t* axis = as_int(item);
    int64_t normal = axis && *axis < 0 ? *axis + static_cast<int64_t>(rank) : axis ? *axis : -1;
    if (normal < 0 || normal >= static_cast<int64_t>(rank)) throw Error(ValueError) << "tensordot: no axis " << item;
    out.push_back(static_cast<int>(normal));
  }
  return out;
}

Globals tensordot_globals{
    {"topi.matmul", matmul},
    {"topi.tensordot",
     [](te::Tensor a, te::Tensor b, Array<PrimExpr> a_axes, Array<PrimExpr> b_axes) {
       return tensordot(a, b, numbers(a_axes, a->shape.size()), numbers(b_axes, b->shape.size()));
     }},
};

}  // namespace
}  // namespace tessera::topi
