#pragma once

#include "ir/prim/ops.h"

namespace tessera::topi {

/// A number as loops count: in 32 bits.
inline PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

}  // namespace tessera::topi
