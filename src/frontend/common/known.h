#pragma once
// What can be seen of integers without computing anything: constants, shapes, and what models do with shapes.

#include <optional>
#include <vector>

#include "relay/expr.h"

namespace tessera::frontend {

/// One element: a number, an expression over names of extents, or the extent of a tensor along an axis of which nothing is known. An
/// expression has a tensor too where it is the extent of one.
struct Element {
  std::optional<int64_t> value;
  PrimExpr extent;
  relay::Expr tensor;
  int axis = -1;

  /// The number, where it is one of 32 bits, or the expression; null for others.
  PrimExpr as_extent() const;
};

/// Element `index` of integers of at most one dimension; nothing where it is not seen.
std::optional<Element> element_of(const relay::Expr& integers, int64_t index);
/// All elements, where each is a number.
std::optional<std::vector<int64_t>> seen_ints(const relay::Expr& integers);

}  // namespace tessera::frontend
