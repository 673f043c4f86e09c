#pragma once
// Tensors with a border.

#include "te/tensor.h"

namespace tessera::topi {

/// `data` with that many elements of `value` before and after it in each dimension.
te::Tensor pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
               const PrimExpr& value, const String& name = "PadInput");

}  // namespace tessera::topi
