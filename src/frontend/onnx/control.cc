// Branches and loops.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

std::span<const Row> control_rows() { return {}; }

}  // namespace tessera::onnx
