#pragma once
// Programs in which the order of evaluation is written down, and those in which it is not.

#include "relay/expr.h"

namespace tessera::relay {

/// A-normal form: every value has a name, and operands are names.
///   add(exp(%x), 1f)   =>   let %x_0 = exp(%x); let %x_1 = 1f; let %x_2 = add(%x_0, %x_1); %x_2
/// What is shared is evaluated once, in the innermost scope that all its uses lie in. Primitive functions stay whole.
Expr to_a_normal_form(const Expr& expr);

/// Basic block normal form: only what is used in several scopes (branches, clauses, functions) gets a name.
///   %0 = exp(%x); if (%c) { add(%0, 1f) } else { %0 }   =>   let %x_0 = exp(%x); if (%c) { add(%x_0, 1f) } else { %x_0 }
/// Lets inside the values of lets come to stand before them.
Expr to_basic_block_normal_form(const Expr& expr);

/// Graph normal form: lets become sharing.
///   let %a = exp(%x); add(%a, %a)   =>   %0 = exp(%x); add(%0, %0)
/// A let stays where it means more: a function that uses its own name, and values that make, read or write references,
/// whose order matters. In a program with references, that may be any call of a function.
Expr to_graph_normal_form(const Expr& expr);

}  // namespace tessera::relay
