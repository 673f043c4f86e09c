#include "topi/nn/pad.h"

#include "ir/prim_ops.h"
#include "topi/operand.h"

namespace tessera::topi {

te::Tensor pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
               const PrimExpr& value, const String& name) {
  Array<PrimExpr> shape;
  for (size_t i = 0; i < data->shape.size(); ++i) shape.push_back(data->shape[i] + before[i] + after[i]);
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr inside;
        auto require = [&](const PrimExpr& condition) { inside = inside ? logical_and(inside, condition) : condition; };
        Array<PrimExpr> source;
        for (size_t i = 0; i < at.size(); ++i) {
          source.push_back(is_zero(before[i]) ? at[i] : at[i] - before[i]);
          if (is_zero(before[i]) && is_zero(after[i])) continue;
          require(at[i] >= before[i]);
          require(at[i] < before[i] + data->shape[i]);
        }
        PrimExpr element = te::load(data, source);
        return inside ? if_then_else(inside, element, tessera::cast(data->dtype, value)) : element;
      },
      name, "injective,pad");
}

}  // namespace tessera::topi
