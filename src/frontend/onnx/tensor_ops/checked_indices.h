#pragma once
// Indices that a model gives. ONNX says that one outside of its axis is an error, and that negative ones count from the end.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// How errors at run time name the node: by its name, or where it has none by that of its first output.
std::string run_time_name(const Operation& in);

/// Indices into an axis of the data. Where they are known to be inside they count from the beginning and need no name for an
/// error; others are checked when the model runs.
struct CheckedIndices {
  Expr indices;
  String checked_as;
};
CheckedIndices checked_indices(const Operation& in, const Expr& indices, const Expr& data, int axis);

/// The elements of x that such indices name along `axis`.
Expr checked_take(const Operation& in, const Expr& x, const Expr& indices, int axis);

}  // namespace tessera::onnx
