#pragma once
// Tensors of ONNX files in memory.

#include "frontend/onnx/model.h"
#include "runtime/ndarray.h"

namespace tessera::onnx {

/// No tensor has more dimensions.
inline constexpr size_t kMaxRank = 64;

/// The element type in memory; an error that names it for types that tensors cannot have here. Types of less than eight
/// bits take a byte an element.
DataType element_type(ElementType type);
const char* element_name(ElementType type);

/// The tensor, checked: the file must hold exactly as many elements as the shape says. `folder`: that of the model, under
/// which data outside the file must lie; symbolic links, hard links and paths that lead out are refused.
NDArray to_ndarray(const Tensor& tensor, const std::string& folder);
/// A sparse tensor, filled up.
NDArray to_ndarray(const SparseTensor& tensor, const std::string& folder);

}  // namespace tessera::onnx
