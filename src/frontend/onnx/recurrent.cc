// Recurrent layers.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Rows recurrent_rows() { return {}; }

}  // namespace tessera::onnx
