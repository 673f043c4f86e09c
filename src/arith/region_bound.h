#pragma once
// The box that a region covers when its variables run through their ranges.

#include "arith/int_set.h"

namespace tessera::arith {

/// The union of `region` over all values of the variables, when it is a box; an empty reference when that cannot be shown.
Array<IntSet> estimate_region_strict_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                           const PrimExpr& predicate, Analyzer* analyzer);
/// A box inside the union; an empty reference when none can be told.
Array<IntSet> estimate_region_lower_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                          const PrimExpr& predicate, Analyzer* analyzer);
/// A box around the union.
Array<IntSet> estimate_region_upper_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                          const PrimExpr& predicate, Analyzer* analyzer);

}  // namespace tessera::arith
