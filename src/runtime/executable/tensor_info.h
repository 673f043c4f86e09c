#pragma once
// What is known of the inputs and outputs of a compiled program.

#include <span>
#include <string>
#include <vector>

#include "runtime/ndarray.h"

namespace tessera {

/// What is known of an input or output before a run. An extent of -1 is one that a run decides. `dims`, where it is not
/// empty, has a name or "" for each dimension: those of one name are equal.
struct TensorInfo {
  std::string name;
  std::vector<int64_t> shape;
  DataType dtype;
  std::vector<std::string> dims = {};
};

/// "(2, batch, ?) float32"
std::string text_of(const TensorInfo& info);
/// True where the shape is the wanted one, of which -1 fits any extent.
bool fits(std::span<const int64_t> given, const std::vector<int64_t>& wanted);
/// A ValueError that names the input and what would make the tensor fit, where it does not.
void check_input(const TensorInfo& wanted, const DLTensor* given);
/// The same for all inputs, of which none may be missing.
void check_inputs(const std::vector<TensorInfo>& wanted, std::span<const NDArray> given);

}  // namespace tessera
