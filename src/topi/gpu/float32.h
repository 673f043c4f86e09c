#pragma once
// Values of fp16 and bf16 computed in float32, as sums of them are.

#include <functional>
#include <optional>

#include "ir/prim/expr.h"

namespace tessera::topi {

/// fp16 or bf16.
bool is_narrow(DataType dtype);
/// What sums of such elements are added up in.
DataType sum_type(DataType dtype);

/// `value` with all that is fp16 or bf16 in float32; elements of tensors are widened when they are read. Loads, choices and calls are
/// first offered to `replace`, which may give a float32 value for them. Empty where something has no such form.
std::optional<PrimExpr> in_float32(const PrimExpr& value, const std::function<PrimExpr(const PrimExpr&)>& replace);

}  // namespace tessera::topi
