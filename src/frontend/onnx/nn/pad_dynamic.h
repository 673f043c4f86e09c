#pragma once
// Pads that are known only at run time.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// `pads`: begins, then ends, of the axes; less than 0 crops. The mode is constant (with a value), edge, reflect or wrap.
Expr padded_at_run_time(Operation& in, const Expr& data, const Expr& pads, const std::vector<int64_t>& axes,
                        const Expr& value, const std::string& mode);

}  // namespace tessera::onnx
