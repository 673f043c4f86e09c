#pragma once
// Matmuls and convolutions of 8-bit integers that have zero points. They are computed from the integers as they are, in 8 bits;
// zero points enter as terms of the int32 result:
//
//   sum over k of (a - p)(b - q)  =  a . b - p * (sum(b) - k * q) - q * sum(a)
//
// With a constant b it becomes uint8 times int8, which int8 kernels take: int8 data moves up by 128 together with its zero
// point, uint8 weights move down. sum(b) is known then when the model is compiled. All sums wrap around, so that the
// result is exact whatever the zero points.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// data - zero. The zero point is int32: one number, a vector with one for each row of the left operand of a matmul, column of the
/// right one or filter, or (matmuls only) a tensor that broadcasts against the data. Empty: 0.
struct Integers {
  Expr data, zero;
};
/// Inputs `data` and `zero` of the node.
Integers integers(Operation& in, size_t data, size_t zero);
Integers integers(Operation& in, const Expr& data, const Expr& zero);

/// The matmul as NumPy has it, int32.
Expr integer_matmul(Operation& in, Integers a, Integers b);
/// The convolution as the node's attributes say, int32, with zero points around the data.
Expr integer_convolution(Operation& in, Integers data, Integers filters);

}  // namespace tessera::onnx
