#pragma once
// Matmuls and convolutions of 8-bit integers that have zero points. They are computed from the integers as they are, in 8 bits;
// zero points enter as terms of the int32 result:
//
//   sum over k of (a - p)(b - q)  =  a . b - p * (sum(b) - k * q) - q * sum(a)
//
// With a constant b it becomes uint8 times int8, which int8 kernels take: int8 data moves up by 128 together with its zero
// point, uint8 weights move down. sum(b) is known then when the model is compiled. All sums wrap around, so that the
// result is exact whatever the zero points.

#include "frontend/common/windows.h"

namespace tessera::frontend {

/// data - zero. The zero point is int32: one number, a vector with one for each row of the left operand of a matmul, column of the
/// right one or filter, or (matmuls only) a tensor that broadcasts against the data. Empty: 0.
struct Integers {
  Expr data, zero;
};
Integers integers(const NodeContext& in, const Expr& data, const Expr& zero);

/// The matmul as NumPy has it, int32.
Expr integer_matmul(const NodeContext& in, Integers a, Integers b);
/// The convolution, int32, with zero points around the data.
Expr integer_convolution(const NodeContext& in, Integers data, Integers filters, ConvWindows windows);

}  // namespace tessera::frontend
