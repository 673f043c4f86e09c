#pragma once
// Type rules that many operators share.

#include "relay/type_rule.h"

namespace tessera::op {

/// One tensor in, the same type out.
bool same_as_input(relay::TypeQuery& query);
/// One tensor in, bool of the same shape out.
bool bool_of_input(relay::TypeQuery& query);
/// Two tensors of one element type, stretched to each other as NumPy does.
bool broadcast(relay::TypeQuery& query);
/// The same with bool elements out.
bool broadcast_compare(relay::TypeQuery& query);

/// The common shape; an extent Any stands against 1 or Any, and yields to a constant above 1.
Array<PrimExpr> broadcast_type_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b);
/// `axis` counted from the front; a TypeError when it is not in [-rank, rank).
int normal_axis(int64_t axis, int rank);

}  // namespace tessera::op
