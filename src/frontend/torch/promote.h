#pragma once
// Element types of results, as PyTorch promotes them: tensors with dimensions before those without, those before numbers; within one
// rank the larger kind (bool, integer, float) and width win.

#include "frontend/torch/importer.h"

namespace tessera::torch {

DataType wider_type(DataType a, DataType b);
/// The type of an operator on these values; numbers count as numbers.
DataType promoted(const Operation& in, const std::vector<Value>& values);
/// The value as a tensor of a type.
Expr as_type(const Operation& in, const Value& value, DataType dtype);
Expr as_type(const Operation& in, const Expr& x, DataType dtype);
/// Integers and bools as the default type of floats.
Expr as_float(const Operation& in, const Expr& x);

}  // namespace tessera::torch
