#pragma once
// Extents that a run decides, by name: which are equal whatever they are, and what shapes they make.

#include <optional>
#include <vector>

#include "frontend/common/node_context.h"

namespace tessera::frontend {

/// True where two extents are seen to be equal; two that nothing is known of are not.
bool same_extent(const PrimExpr& a, const PrimExpr& b);
bool same_extents(const Array<PrimExpr>& a, const Array<PrimExpr>& b);
/// The extents with names among them as unknown ones, in all tensors of a type.
Type without_names(const Type& type);

/// Takes the types off all expressions, which may hold names: they are inferred anew, with Any.
void forget_names(const Expr& root);

/// The elements of a vector of integers, null where one is not seen; nothing where their number is not known.
std::optional<std::vector<PrimExpr>> seen_extents(const NodeContext& in, const Expr& integers);

/// `x` in these extents, of which those that are null or -1 are left open; null where Relay's reshape has no numbers for them.
Expr reshaped_to(const NodeContext& in, const Expr& x, std::vector<PrimExpr> extents);
/// The same where `integers` say them and Relay has no numbers for an extent that becomes several, [n * m, c] => [n, m, c]: they are those of
/// another tensor that has them side by side, whose shape the integers were taken from. Null where there is none.
Expr reshaped_like_another(const NodeContext& in, const Expr& x, const Expr& integers,
                           const std::vector<PrimExpr>& extents);
/// Dimensions [begin, end) of `x` as dimensions [like_begin, like_end) of `like`, which have as many elements.
Expr reshaped_as(const Expr& x, int begin, int end, const Expr& like, int like_begin, int like_end);
/// The numbers from 0 to before the extent of an axis, as int64.
Expr positions_along(const NodeContext& in, const Expr& x, int axis);
/// All dimensions of `x` from `begin` to before `end` as one.
Expr merged(Expr x, int begin, int end);

}  // namespace tessera::frontend
