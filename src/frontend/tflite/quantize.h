#pragma once
// Integers that stand for real numbers, as TFLite's tensors have them.

#include "frontend/tflite/importer.h"

namespace tessera::tflite {

/// Scales and zero points as arguments of a qnn operator.
Expr scale_of(const Quantization& q);
Expr zero_of(const Quantization& q);

/// An input as floats, dequantized where it is integers.
Expr floats(const Node& in, size_t i);
Expr dequantized(const NodeContext& in, const Expr& x, const Quantization& q);
Expr quantized(const NodeContext& in, const Expr& x, const Quantization& q, DataType dtype);
/// Integers of one scale as those of another; as they are where both are the same.
Expr requantized(const NodeContext& in, const Expr& x, const Quantization& from, const Quantization& to,
                 DataType dtype);
bool same_quantization(const Quantization& a, const Quantization& b);

/// The activation that an operator's options fuse, of floats.
Expr activated(const NodeContext& in, const Expr& x, int64_t activation);
/// The same of integers of a scale.
Expr activated_integers(const NodeContext& in, const Expr& x, int64_t activation, const Quantization& q,
                        DataType dtype);

}  // namespace tessera::tflite
