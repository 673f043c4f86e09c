#pragma once
// A reduction with one of its loops factored out, for TE stages and for blocks:
//
//   R[s] = reduce over k: f(s, k)          where k is run through by the loops x and y, and x is the factor
//     =>  P[.., x, ..] = reduce over y: f(s, k(x, y))         partial results, one for each x
//         R[s] = reduce over x: P[.., x, ..]

#include <functional>
#include <optional>
#include <vector>

#include "ir/prim/expr.h"

namespace tessera::loops {

/// What the factor takes apart: the axes that it has a part in, those that share a loop with such an axis, and so on. In the
/// partial results their loops are axes instead of them; all other axes stay.
struct FactoredAxes {
  std::vector<bool> axes, loops;
};
/// `has_part(axis, loop)`: the value of the axis depends on the loop. The factor is a loop.
FactoredAxes factor_axes(size_t axes, size_t loops, size_t factor,
                         const std::function<bool(size_t axis, size_t loop)>& has_part);

/// Where the index of the factor stands among the `rank` + 1 of partial results: from the end where `given` is negative; nothing
/// where there is no such position.
std::optional<size_t> factor_position(int given, size_t rank);

/// The indices (or the shape) of partial results: those of the results and that of the factor at its position.
Array<PrimExpr> with_factor(Array<PrimExpr> indices, size_t position, const PrimExpr& factor);

}  // namespace tessera::loops
