#pragma once
// Building expressions. Operand types are matched as v0.10 does (implicit casts, scalar broadcast), constants are
// folded, and trivial identities (x + 0, x * 1, x // 1) disappear; anything deeper is the simplifier's work.

#include "ir/prim/expr.h"
#include "ir/prim/side_effect.h"

namespace tessera {

PrimExpr operator+(PrimExpr a, PrimExpr b);
PrimExpr operator-(PrimExpr a, PrimExpr b);
PrimExpr operator-(PrimExpr a);
PrimExpr operator*(PrimExpr a, PrimExpr b);
PrimExpr operator<(PrimExpr a, PrimExpr b);
PrimExpr operator<=(PrimExpr a, PrimExpr b);
PrimExpr operator>(PrimExpr a, PrimExpr b);
PrimExpr operator>=(PrimExpr a, PrimExpr b);
PrimExpr equal(PrimExpr a, PrimExpr b);
PrimExpr not_equal(PrimExpr a, PrimExpr b);
// Logic has names, not operators: `!e` and `a && b` ask whether a reference is empty.
PrimExpr logical_and(PrimExpr a, PrimExpr b);
PrimExpr logical_or(PrimExpr a, PrimExpr b);
PrimExpr logical_not(PrimExpr a);
PrimExpr operator&(PrimExpr a, PrimExpr b);
PrimExpr operator|(PrimExpr a, PrimExpr b);
PrimExpr operator^(PrimExpr a, PrimExpr b);
PrimExpr operator~(PrimExpr a);
PrimExpr operator<<(PrimExpr a, PrimExpr b);
PrimExpr operator>>(PrimExpr a, PrimExpr b);

PrimExpr div(PrimExpr a, PrimExpr b);  // truncating on integers, true division on floats
PrimExpr truncdiv(PrimExpr a, PrimExpr b);
PrimExpr truncmod(PrimExpr a, PrimExpr b);
PrimExpr floordiv(PrimExpr a, PrimExpr b);
PrimExpr floormod(PrimExpr a, PrimExpr b);
PrimExpr indexdiv(PrimExpr a, PrimExpr b);  // both known to be non-negative
PrimExpr indexmod(PrimExpr a, PrimExpr b);
PrimExpr ceildiv(PrimExpr a, PrimExpr b);
PrimExpr min(PrimExpr a, PrimExpr b);
PrimExpr max(PrimExpr a, PrimExpr b);
PrimExpr pow(PrimExpr a, PrimExpr b);
PrimExpr abs(PrimExpr a);
PrimExpr cast(DataType dtype, PrimExpr value);
PrimExpr reinterpret(DataType dtype, PrimExpr value);
PrimExpr select(PrimExpr condition, PrimExpr true_value, PrimExpr false_value);
PrimExpr if_then_else(PrimExpr condition, PrimExpr true_value, PrimExpr false_value);
PrimExpr likely(PrimExpr condition);
PrimExpr isnan(PrimExpr x);
PrimExpr isinf(PrimExpr x);
PrimExpr isfinite(PrimExpr x);
PrimExpr floor(PrimExpr x);
PrimExpr ceil(PrimExpr x);
PrimExpr round(PrimExpr x);
PrimExpr nearbyint(PrimExpr x);
PrimExpr trunc(PrimExpr x);
/// tir.exp, tir.log, ... of one operand, with the operand's type.
PrimExpr unary_intrin(std::string_view op, PrimExpr x);

PrimExpr min_value(DataType dtype);
PrimExpr max_value(DataType dtype);
PrimExpr infinity(DataType dtype);

/// Bare nodes: dtype worked out, operands must agree already, nothing folded.
PrimExpr make_ramp(PrimExpr base, PrimExpr stride, int lanes);
PrimExpr make_broadcast(PrimExpr value, int lanes);
PrimExpr make_shuffle(Array<PrimExpr> vectors, Array<PrimExpr> indices);
PrimExpr make_cast(DataType dtype, PrimExpr value);
PrimExpr make_not(PrimExpr a);
PrimExpr make_select(PrimExpr condition, PrimExpr true_value, PrimExpr false_value);
PrimExpr make_let(Var var, PrimExpr value, PrimExpr body);
/// A node of type T (Add, Min, LT, ...) over operands of one type; throws TypeError when they differ.
template <class T>
PrimExpr make_binary(PrimExpr a, PrimExpr b);

/// Folds constants and trivial identities of one binary node; empty when there is nothing to fold.
template <class T>
PrimExpr try_fold(const PrimExpr& a, const PrimExpr& b);

}  // namespace tessera
