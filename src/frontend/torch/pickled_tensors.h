#pragma once
// Tensors as they lie in files of PyTorch. A pickle is a program of a small machine; this one knows the few instructions that
// dictionaries of tensors are written with, and calls nothing.

#include <string>
#include <utility>
#include <vector>

#include "runtime/archive/zip.h"
#include "runtime/ndarray.h"

namespace tessera::torch {

/// A tensor's part of its storage.
struct StoredTensor {
  DataType dtype;
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;  // in elements
};
/// Row-major, whatever the strides; an error where it reaches out of the storage.
NDArray tensor_from_storage(const ZipMember& storage, const StoredTensor& stored, const std::string& what);

/// The tensors of a dictionary (or one tensor, named "") that torch.save wrote. A ValueError for anything else.
std::vector<std::pair<std::string, NDArray>> read_pickled_tensors(std::string_view bytes, const std::string& what);

}  // namespace tessera::torch
