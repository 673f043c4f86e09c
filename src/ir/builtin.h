#pragma once
// The operators of loop programs as C++ values: `builtin::likely()` is the Op "tir.likely".

#include "ir/builtin_list.h"
#include "ir/prim/expr.h"

namespace tessera::builtin {

#define TESSERA_DECLARE_BUILTIN(NAME, INPUTS, EFFECT, VECTORIZABLE) const Op& NAME();
TESSERA_BUILTIN_OPS(TESSERA_DECLARE_BUILTIN)
#undef TESSERA_DECLARE_BUILTIN

/// True when `call` calls `op`: a comparison of pointers, for passes that ask of every call.
inline bool is(const Call* call, const Op& op) { return call && call->op.same_as(op); }
inline bool is(const PrimExpr& e, const Op& op) { return is(e.as<Call>(), op); }

/// What a call of `call->op` may do; a call of a function is Opaque.
CallEffect effect_of(const Call* call);

}  // namespace tessera::builtin

namespace tessera {

PrimExpr make_call(DataType dtype, const RelayExpr& op, Array<PrimExpr> args);

}  // namespace tessera
