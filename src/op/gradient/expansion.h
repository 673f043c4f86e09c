#pragma once
// Gradients of operators that other operators can say: the call is written out with operators that have gradients, and
// what was written is differentiated.

#include "op/gradient/gradient.h"

namespace tessera::op {

/// The arguments are variables of their types; the value has the type of the call.
using Expansion = std::function<Expr(const Exprs& args)>;
Exprs expanded_gradient(const relay::Call* call, const Expr& grad, const Expansion& expand);

/// The same with values that are taken as they are, whatever they depend on; `expand` is given them behind the arguments.
struct Given {
  Expr value;
  Type type;
};
Exprs expanded_gradient(const relay::Call* call, const Expr& grad, const std::vector<Given>& given,
                        const Expansion& expand);

// ---- words that expansions are written in ------------------------------------------------------------------------

/// 0, 1, ..., count - 1.
Expr counted(int64_t count, DataType dtype);
/// Elements of one axis by their numbers, which stand in for the axis; numbers outside are a mistake of ours.
Expr taken(const Expr& x, const Expr& numbers, int axis);
/// Column `i` of rows (n, columns), as (n, 1).
Expr column(const Expr& rows, int i);
/// a (..., m, k) times b (..., k, n) of three dimensions each, either stored transposed.
Expr batch_matmul(const Expr& a, const Expr& b, bool transpose_a, bool transpose_b);
/// `x` in another layout of its dimensions.
Expr in_layout(const Expr& x, const String& from, const String& to);
/// 1 where both hold, else 0, in a type.
Expr both_as_number(const Expr& a, const Expr& b, DataType dtype);

}  // namespace tessera::op
