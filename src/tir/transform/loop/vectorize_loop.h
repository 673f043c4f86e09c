#pragma once

#include "tir/stmt.h"

namespace tessera {

/// `e` for all `lanes` values of `var` from `min` on at once: a vector where it depends on `var`, else itself. Empty
/// where it has no vector form.
PrimExpr vectorize_expr(const PrimExpr& e, const Var& var, const PrimExpr& min, int lanes);

/// A function of elements that has a form for vectors.
bool is_lane_by_lane(const Call* call);

/// The name of a loop that does lane by lane what has no vector form.
bool is_lane_loop(const Var& loop_var);

}  // namespace tessera
