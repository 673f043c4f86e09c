#pragma once
// The two halves of a reduction: what its result starts from and how one more element changes it.

#include <functional>

#include "tir/expr.h"
#include "tir/stmt.h"

namespace tessera::loops {

/// The values a reduction starts from: what the user gave, else the identity of its combiner.
Array<PrimExpr> reduction_start(const Reduce* reduce);
/// The values after `source` is combined with `current`.
Array<PrimExpr> reduction_step(const Reduce* reduce, const Array<PrimExpr>& current);

/// One of the values, by its number, that `combiner` makes of `source` over `axes`, where the condition holds.
PrimExpr reduce_one(const CommReducer& combiner, const Array<PrimExpr>& source, const Array<IterVar>& axes,
                    const PrimExpr& condition, size_t number);
/// All of them. Over no axes each is its source, or the identity where the condition does not hold.
Array<PrimExpr> reduce_all(const CommReducer& combiner, const Array<PrimExpr>& source, const Array<IterVar>& axes,
                           const PrimExpr& condition);

/// Stores `values` of one tuple one after another. Where a later value reads what an earlier store changes
/// (`reads(value, i)`: does the value read target i), all values are computed first.
Stmt store_together(const Array<PrimExpr>& values, const std::function<Stmt(size_t, PrimExpr)>& store,
                    const std::function<bool(const PrimExpr&, size_t)>& reads);

}  // namespace tessera::loops
