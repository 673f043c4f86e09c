#pragma once
// Linear forms of expressions, and the bounds that conditions put on a variable.

#include "arith/int_set.h"

namespace tessera::arith {

/// The factors of `vars` and then what is left, when e = factor0 * var0 + ... + rest and neither factors nor rest
/// name a variable of `vars`; an empty array when e is not linear in them.
Array<PrimExpr> detect_linear_equation(const PrimExpr& e, const Array<Var>& vars);

/// For a conjunction of comparisons, each linear in exactly one of `vars`: the least and greatest value of each
/// variable, an empty reference where there is none. An empty array when the condition has another form.
Array<PrimExpr> detect_clip_bound(const PrimExpr& condition, const Array<Var>& vars);

/// The values of `var` for which `condition` holds whatever the variables of `relaxed` are in their sets. `hints` tells
/// the sets of other variables, which stay symbols in the answer. The empty set when no interval can be told.
IntSet deduce_bound(const PrimExpr& var, const PrimExpr& condition, const SetOfVar& hints, const SetOfVar& relaxed);

}  // namespace tessera::arith
