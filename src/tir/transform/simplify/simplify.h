#pragma once

#include "tir/function.h"

namespace tessera {

/// `condition` without `likely` around it.
PrimExpr without_likely(const PrimExpr& condition);

}  // namespace tessera
