#pragma once
// Functions of one tensor, element by element.

#include "topi/operand.h"

namespace tessera::topi {

te::Tensor elementwise(const te::Tensor& x, const std::function<PrimExpr(PrimExpr)>& body,
                       const String& name = "compute", const std::string& axis_prefix = "i");

te::Tensor cast(const te::Tensor& x, DataType dtype);
te::Tensor reinterpret(const te::Tensor& x, DataType dtype);
te::Tensor clip(const te::Tensor& x, const PrimExpr& low, const PrimExpr& high);
/// -1, 0 or 1 by the sign of each element; NaN stays NaN.
te::Tensor sign(const te::Tensor& x);
te::Tensor full(const Array<PrimExpr>& shape, DataType dtype, const PrimExpr& value, const String& name = "T_full");

/// Every element as it is.
te::Tensor identity(const te::Tensor& x);
/// x * multiplier * 2^(shift - 31), rounded, in 32-bit integers.
te::Tensor fixed_point_multiply(const te::Tensor& x, int64_t multiplier, int shift);

/// Quicker, less exact forms (about 1e-5 relative) that vectorise without calls.
te::Tensor fast_exp(const te::Tensor& x);
te::Tensor fast_tanh(const te::Tensor& x);
te::Tensor fast_erf(const te::Tensor& x);

}  // namespace tessera::topi
