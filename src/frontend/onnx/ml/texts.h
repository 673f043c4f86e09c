#pragma once
// What converters of several families do with strings.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// The two first inputs, both strings, broadcast to each other: bool.
Expr equal_texts(Operation& in);
/// Strings that are written numbers, "INF", "-INF" and "NaN" among them.
Expr numbers_of_texts(Operation& in, const Texts& texts, DataType dtype);
/// Numbers, known while importing, as strings.
Texts texts_of_numbers(Operation& in, const Expr& x);
/// Integers as a constant of the given shape.
Expr integers_of(const std::vector<int64_t>& values, const std::vector<int64_t>& shape, DataType dtype);

}  // namespace tessera::onnx
