// Quantised operators.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Rows quantized_rows() { return {}; }

}  // namespace tessera::onnx
