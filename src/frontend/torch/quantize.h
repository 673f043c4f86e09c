#pragma once
// Quantised tensors: integers that stand for scale * (integer - zero point).

#include "frontend/torch/importer.h"

namespace tessera::torch {

using Quantization = std::shared_ptr<const Quantized>;

Quantization quantization_of(double scale, int64_t zero);
/// By tensors: one scale and zero point, or one for each index along `axis`.
Quantization quantization_of(const Expr& scale, const Expr& zero, int axis = -1);

/// What the integers stand for.
Expr dequantized(const Operation& in, const Expr& integers, const Quantized& by);
Expr dequantized(const Operation& in, const Value& x);
/// The nearest integers, the even one when halfway.
Expr quantized(const Operation& in, const Expr& x, DataType dtype, const Quantized& by);
Value quantized_value(const Operation& in, const Expr& x, DataType dtype, const Quantization& by);
/// The least and greatest integer of a type.
std::pair<double, double> range_of(DataType dtype);

/// Runs a converter of floats on what may be quantised or complex. What moves elements moves the integers; everything else computes floats, which
/// become integers of the first quantised argument's scale, or of the fixed one that PyTorch gives a sigmoid and its like.
Values convert_any(Operation& in, const Converter& convert);
/// Whether elements are only moved, copied or repeated.
bool only_moves(std::string_view name);
/// An operator that is given complex numbers (ops/complex.cc).
bool has_complex(const Operation& in);
Values convert_complex(Operation& in, const Converter& convert);

}  // namespace tessera::torch
