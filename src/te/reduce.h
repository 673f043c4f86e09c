#pragma once
// Reductions of an expression over axes, for bodies of computations.

#include "te/tensor.h"

namespace tessera::te {

PrimExpr sum(const PrimExpr& source, const Array<IterVar>& axes);
PrimExpr prod(const PrimExpr& source, const Array<IterVar>& axes);
/// The maximum starts from minus infinity (the minimum from infinity), so that infinities among the elements count.
PrimExpr max_over(const PrimExpr& source, const Array<IterVar>& axes);
PrimExpr min_over(const PrimExpr& source, const Array<IterVar>& axes);

/// What no value of the type is less than (greater than): minus infinity, or the least number of a type that has none.
PrimExpr least_of(DataType dtype);
PrimExpr greatest_of(DataType dtype);

/// `combine` is commutative and associative, and `identity` changes nothing under it.
PrimExpr reduce(const PrimExpr& source, const Array<IterVar>& axes,
                const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine, const PrimExpr& identity);
/// One of the results, by its number, of a reduction of several values at once.
PrimExpr reduce(const CommReducer& combiner, const Array<PrimExpr>& source, const Array<IterVar>& axes, int index);

}  // namespace tessera::te
