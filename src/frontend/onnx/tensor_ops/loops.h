#pragma once
// Loops, for converters whose operators are loops themselves.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// What one iteration gives. An empty condition goes on.
struct Step {
  Expr condition;
  Values states, scans;
};
using Body = std::function<Step(Expr iteration, Expr condition, const Values& states)>;

/// The last states, then the `scans` of all iterations, each stacked. A small `count` gives copies of the body with
/// constant iterations; a larger one, or a `limit` known at run time (a number, int64), a recursive function.
Values counted_loop(Operation& in, std::optional<int64_t> count, Expr limit, const Values& states, const Body& body,
                    size_t scans);

}  // namespace tessera::onnx
