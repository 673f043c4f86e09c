#pragma once
// Reductions of an expression over axes, for bodies of computations.

#include "te/tensor.h"

namespace tessera::te {

PrimExpr sum(const PrimExpr& source, const Array<IterVar>& axes);
PrimExpr prod(const PrimExpr& source, const Array<IterVar>& axes);
PrimExpr min_over(const PrimExpr& source, const Array<IterVar>& axes);
PrimExpr max_over(const PrimExpr& source, const Array<IterVar>& axes);

/// `combine` is commutative and associative, and `identity` changes nothing under it.
PrimExpr reduce(const PrimExpr& source, const Array<IterVar>& axes,
                const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine, const PrimExpr& identity);

}  // namespace tessera::te
