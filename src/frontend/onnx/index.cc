// Operators that choose or place elements by index.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Rows index_rows() { return {}; }

}  // namespace tessera::onnx
