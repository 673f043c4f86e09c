#pragma once
// Extents that an operator reads elements of, whatever the shape of its result.

#include "ir/prim/ops.h"
#include "relay/type/rule.h"

namespace tessera::op {

/// False when the extent is certainly less than `least`. Where one of them is known only at run time, that it is not is assumed,
/// and checked then.
inline bool may_reach(const PrimExpr& extent, const PrimExpr& least) {
  const int64_t *known = as_int(extent), *wanted = as_int(least);
  if (known && wanted) return *known >= *wanted;
  if (!relay::is_any(extent) && !relay::is_any(least) && !extent.same_as(least)) relay::assume(extent >= least);
  return true;
}
inline bool may_reach(const PrimExpr& extent, int64_t least) {
  return may_reach(extent, make_const(extent.dtype(), least));
}

}  // namespace tessera::op
