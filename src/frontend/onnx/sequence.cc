// Sequences and optionals.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Rows sequence_rows() { return {}; }

}  // namespace tessera::onnx
