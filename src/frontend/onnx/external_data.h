#pragma once
// Tensor data that lies beside a model file.

#include <string>

#include "frontend/onnx/model.h"

namespace tessera::onnx {

/// Reads `size` bytes of the tensor's data into `to`. The location must be a plain file under `folder`.
void read_external(const Tensor& tensor, const std::string& folder, void* to, size_t size);

}  // namespace tessera::onnx
