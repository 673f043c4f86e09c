#pragma once
// Functions that move elements.

#include "topi/operand.h"

namespace tessera::topi {

/// The same elements in row-major order under another shape.
te::Tensor reshape(const te::Tensor& x, const Array<PrimExpr>& shape);
te::Tensor transpose(const te::Tensor& x, const std::vector<int>& axes);
/// `count` dimensions of extent 1 before dimension `axis`.
te::Tensor expand_dims(const te::Tensor& x, int axis, int count);
/// Without the dimensions `axes`, which have extent 1.
te::Tensor squeeze(const te::Tensor& x, const std::vector<int>& axes);
te::Tensor concatenate(const Array<te::Tensor>& parts, int axis);
te::Tensor stack(const Array<te::Tensor>& parts, int axis);
/// Parts that begin at 0 and at `begins`.
Array<te::Tensor> split(const te::Tensor& x, const std::vector<PrimExpr>& begins, int axis, const String& name);
te::Tensor layout_transform(const te::Tensor& x, const String& from, const String& to);

/// The offset in a row-major sequence of element `at` of `shape`, and back.
PrimExpr flat_index(const Array<PrimExpr>& at, const Array<PrimExpr>& shape);
Array<PrimExpr> unflat_index(const PrimExpr& offset, const Array<PrimExpr>& shape);

}  // namespace tessera::topi
