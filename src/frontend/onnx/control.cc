// Branches and loops.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Rows control_rows() { return {}; }

}  // namespace tessera::onnx
