#pragma once
// Tensor data that lies beside a model file.

#include <functional>
#include <string>

#include "frontend/onnx/model.h"

namespace tessera::onnx {

/// Reads `size` bytes of the tensor's data. The location must be a plain file in `folder`; `memory` is asked for room
/// only after the file is seen to have that many.
void read_external(const Tensor& tensor, const DataFolder& folder, size_t size, const std::function<char*()>& memory);

}  // namespace tessera::onnx
