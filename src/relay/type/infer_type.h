#pragma once
// The types of all expressions.

#include "ir/pass/pass.h"
#include "relay/expr.h"

namespace tessera::relay {

/// The module with `checked_type_` set on every expression of every Relay function, and with the type annotations of
/// parameters and results that were left open filled in. Nodes whose type was known already are kept as they are.
///
/// Types follow from unification; operators add what their type rules say. A function may be used with different
/// types only where it has type parameters. Throws a DiagnosticError that lists what disagrees, each with its position.
IRModule infer_type(const IRModule& mod);
/// The same for one expression, whose globals are those of `mod`.
Expr infer_type(const Expr& expr, const IRModule& mod = IRModule());

/// What a type rule or an annotation says, with extents that are computed from Any made Any: they are unknown themselves. A
/// negative extent is an error, and so are more bytes than 64 bits count.
Type valid_type(const Type& type);

}  // namespace tessera::relay
