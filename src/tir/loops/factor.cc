#include "tir/loops/factor.h"

namespace tessera::loops {

FactoredAxes factor_axes(size_t axes, size_t loops, size_t factor,
                         const std::function<bool(size_t axis, size_t loop)>& has_part) {
  FactoredAxes out{std::vector<bool>(axes), std::vector<bool>(loops)};
  std::vector<size_t> pending{factor};
  out.loops[factor] = true;
  while (!pending.empty()) {
    size_t loop = pending.back();
    pending.pop_back();
    for (size_t axis = 0; axis < axes; ++axis) {
      if (out.axes[axis] || !has_part(axis, loop)) continue;
      out.axes[axis] = true;
      for (size_t other = 0; other < loops; ++other) {
        if (out.loops[other] || !has_part(axis, other)) continue;
        out.loops[other] = true;
        pending.push_back(other);
      }
    }
  }
  return out;
}

std::optional<size_t> factor_position(int given, size_t rank) {
  int64_t position = given < 0 ? given + static_cast<int64_t>(rank) + 1 : given;
  if (position < 0 || position > static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(position);
}

Array<PrimExpr> with_factor(Array<PrimExpr> indices, size_t position, const PrimExpr& factor) {
  indices.insert(position, factor);
  return indices;
}

}  // namespace tessera::loops
