#pragma once
// Extents that an operator reads elements of, whatever the shape of its result.

#include "ir/prim/ops.h"
#include "relay/type/rule.h"

namespace tessera::op {

/// False when the extent is certainly less than `least`. Where it is known only at run time, that it is not is assumed, and
/// checked then.
inline bool may_reach(const PrimExpr& extent, int64_t least) {
  if (const int64_t* known = as_int(extent)) return *known >= least;
  if (!relay::is_any(extent)) relay::assume(extent >= make_const(extent.dtype(), least));
  return true;
}

}  // namespace tessera::op
