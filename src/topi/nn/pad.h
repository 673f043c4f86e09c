#pragma once
// Tensors with a border, or with room between their elements.

#include "te/tensor.h"

namespace tessera::topi {

/// `data` with that many elements of `value` before and after it in each dimension.
te::Tensor pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
               const PrimExpr& value, const String& name = "PadInput", const std::string& axis_prefix = "i");

/// What stands in a border that is made of the data: its outermost element, the data mirrored at that element, or
/// mirrored behind it.
enum class Border { Edge, Reflect, Symmetric };
te::Tensor border_pad(const te::Tensor& data, const Array<PrimExpr>& before, const Array<PrimExpr>& after,
                      Border border, const String& name, const std::string& axis_prefix = "i");

/// Elements `strides` apart, with `value` between them.
te::Tensor dilate(const te::Tensor& data, const Array<PrimExpr>& strides, const PrimExpr& value,
                  const String& name = "DilatedInput");

}  // namespace tessera::topi
