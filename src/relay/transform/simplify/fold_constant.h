#pragma once
// Constant parts of programs, for passes that look at their values.

#include "relay/expr.h"

namespace tessera::relay {

/// `expr`, which must be typed, with what depends on constants only computed.
Expr fold_constant(Expr expr, bool fold_qnn = false);
/// Computes the tensors of a function without parameters whose result is a tuple, in order; a tuple in it gives its fields.
using ConstantEvaluator = Array<NDArray> (*)(const Function& function);
/// What computes constants: the driver, which compiles and runs them, puts it here.
ConstantEvaluator& constant_evaluator();

/// The constant that shape_of or ndarray_size gives for a tensor of known shape; empty for other calls.
Expr shape_constant(const Call* call);

}  // namespace tessera::relay
