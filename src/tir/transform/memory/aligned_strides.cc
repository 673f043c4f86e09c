#include "tir/transform/memory/aligned_strides.h"

#include "ir/prim/ops.h"

namespace tessera {

Array<PrimExpr> aligned_strides(const Array<PrimExpr>& shape, const std::vector<DimAlign>& aligns,
                                arith::Analyzer& analyzer) {
  if (aligns.empty()) return {};
  std::vector<PrimExpr> strides(shape.size());
  PrimExpr stride = make_const(shape[0].dtype(), 1);
  for (size_t axis = shape.size(); axis-- > 0;) {
    for (const DimAlign& align : aligns) {
      if (align.axis != static_cast<int64_t>(axis)) continue;
      PrimExpr factor = make_const(stride.dtype(), align.factor), offset = make_const(stride.dtype(), align.offset);
      stride = analyzer.simplify(stride + indexmod(factor + offset - indexmod(stride, factor), factor));
    }
    strides[axis] = stride;
    stride = stride * shape[axis];
  }
  return strides;
}

}  // namespace tessera
