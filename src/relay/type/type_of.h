#pragma once
// Types of expressions while they are being built.

#include "relay/expr.h"

namespace tessera::relay {

/// The type of an expression, set on it and on all below that have none yet. Only what is new is looked at, so a builder
/// may ask after every call. Variables must have a type annotation; a call whose type rule cannot infer it is an error.
Type type_of(const Expr& expr);
/// `expr` itself, typed like that where it is made of calls, tuples, fields, constants and variables with annotations;
/// other expressions (scopes, branches) are left as they are.
Expr typed(const Expr& expr);

}  // namespace tessera::relay
