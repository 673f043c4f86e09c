#include "topi/nn/pad.h"

#include "ir/prim/ops.h"
#include "topi/operand.h"

namespace tessera::topi {

te::Tensor pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
               const PrimExpr& value, const String& name, const std::string& axis_prefix) {
  Array<PrimExpr> shape;
  for (size_t i = 0; i < data->shape.size(); ++i) shape.push_back(data->shape[i] + before[i] + after[i]);
  return compute(
      shape, axis_prefix,
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

namespace {

/// The index in [0, extent) of what stands `at` elements from the beginning of the data.
PrimExpr border_index(const PrimExpr& at, const PrimExpr& extent, Border border) {
  PrimExpr zero = make_zero(at.dtype());
  if (border == Border::Edge) return max(min(at, extent - 1), zero);
  int behind = border == Border::Symmetric ? 1 : 0;
  PrimExpr low = behind ? -at - 1 : -at, high = extent * 2 - 2 + behind - at;
  return if_then_else(at >= extent, high, if_then_else(at < zero, low, at));
}

}  // namespace

te::Tensor border_pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
                      Border border, const String& name, const std::string& axis_prefix) {
  Array<PrimExpr> shape;
  for (size_t i = 0; i < data->shape.size(); ++i) shape.push_back(data->shape[i] + before[i] + after[i]);
  return compute(
      shape, axis_prefix,
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source = at;
        for (size_t i = 0; i < at.size(); ++i)
          if (!is_zero(before[i]) || !is_zero(after[i]))
            source.set(i, border_index(at[i] - before[i], data->shape[i], border));
        return te::load(data, source);
      },
      name, "injective,pad");
}

te::Tensor dilate(const te::Tensor& data, const Array<PrimExpr>& strides, const PrimExpr& value, const String& name) {
  Array<PrimExpr> shape;
  for (size_t i = 0; i < data->shape.size(); ++i) shape.push_back((data->shape[i] - 1) * strides[i] + 1);
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr is_element;
        Array<PrimExpr> source = at;
        for (size_t i = 0; i < at.size(); ++i) {
          if (is_one(strides[i])) continue;
          source.set(i, floordiv(at[i], strides[i]));
          PrimExpr here = equal(floormod(at[i], strides[i]), make_zero(at[i].dtype()));
          is_element = is_element ? logical_and(is_element, here) : here;
        }
        PrimExpr element = te::load(data, source);
        return is_element ? if_then_else(is_element, element, tessera::cast(data->dtype, value)) : element;
      },
      name, "injective,dilate");
}

}  // namespace tessera::topi
