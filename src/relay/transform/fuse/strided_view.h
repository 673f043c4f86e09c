#pragma once
// Where the elements of a tensor lie in another one, of which only views, transpositions and slices have made it.

#include <optional>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// Each axis is a number of digits, the last one runs fastest, and every digit has a step in memory:
///   transpose(reshape(x of [197, 768], [197, 12, 64]), [1, 0, 2])   =>   axes {12: 64}, {197: 768}, {64: 1}
struct StridedView {
  struct Digit {
    int64_t extent, step;
  };
  std::vector<std::vector<Digit>> axes;
  int64_t offset = 0;
};

/// A tensor of known shape itself; nothing for other types.
std::optional<StridedView> whole_view(const Type& type);

/// What a call makes of a view of its first argument, or an item of a tuple that a call makes; nothing where it computes, or where the
/// positions of elements are no digits with steps of their own.
std::optional<StridedView> moved_view(const Expr& expr, const StridedView& view);

}  // namespace tessera::relay
