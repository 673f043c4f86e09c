// Pictures: resizing, sampling, regions.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

Rows image_rows() { return {}; }

}  // namespace tessera::onnx
