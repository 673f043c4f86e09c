#pragma once
// Tensors of ONNX files in memory.

#include "frontend/onnx/model.h"
#include "runtime/ndarray.h"

namespace tessera::onnx {

/// No tensor has more dimensions.
inline constexpr size_t kMaxRank = 64;

/// The element type in memory; an error that names it for types that tensors cannot have here. Types of less than eight
/// bits take a byte an element.
DataType memory_type(ElementType type);
/// The same for types that Relay computes with: not for minifloats, whose bytes are no numbers.
DataType element_type(ElementType type);
/// The type that has this one in memory and means the same.
ElementType number_of(DataType dtype);
const char* element_name(ElementType type);
/// fp8 and smaller floats (minifloats).
bool is_minifloat(ElementType type);
/// The name of such a format in topi/minifloat.h.
const char* minifloat_name(ElementType type);
/// The bits of an element that is smaller than a byte; 0 for others.
int small_bits(ElementType type);

/// Gives the tensor `bytes`, of uint8 and on the host, as its raw data; it shares their memory where elements are not packed.
void set_raw(Tensor& tensor, const NDArray& bytes);
/// The tensor, checked: the file must hold exactly as many elements as the shape says. Data outside the file
/// must lie in `folder`; symbolic links that are not allowed, hard links and paths that lead out are rejected.
NDArray to_ndarray(const Tensor& tensor, const DataFolder& folder);
/// The same of strings; the shape must fit.
std::vector<std::string> text_items(const Tensor& tensor);
/// A sparse tensor, filled up.
NDArray to_ndarray(const SparseTensor& tensor, const DataFolder& folder);

}  // namespace tessera::onnx
