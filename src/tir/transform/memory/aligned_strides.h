#pragma once

#include "arith/analyzer.h"

namespace tessera {

/// The stride of the axis is `offset` modulo `factor`.
struct DimAlign {
  int64_t axis, factor, offset;
};

/// The strides of a compact array, made longer where an axis is aligned; none when nothing is aligned.
Array<PrimExpr> aligned_strides(const Array<PrimExpr>& shape, const std::vector<DimAlign>& aligns,
                                arith::Analyzer& analyzer);

}  // namespace tessera
