#pragma once
// What converters of quantised operators share.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

struct Range {
  DataType dtype;
  double low, high;
};
/// All integers of a type, or of fewer `bits` in it; 0: all of the type's.
Range range_of(Operation& in, DataType dtype, int bits);
/// Rounds, moves by the zero point (empty: none), and clips to the range.
Expr quantized(Operation& in, const Expr& scaled, const Expr& zero, const Range& range);
/// uint8, and the scale and zero point by which its numbers span those of x, and 0.
std::vector<Expr> quantized_by_range(Operation& in, const Expr& x);

}  // namespace tessera::onnx
