#pragma once
// Axes that a node names.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// The numbers from 0 to before `count`: all axes in order.
std::vector<int64_t> counted(size_t count);

/// Axes of a tensor of `rank` dimensions that are known at run time, as int64 from 0 on.
Expr counted_from_front(Operation& in, const Expr& axes, size_t rank);

}  // namespace tessera::onnx
