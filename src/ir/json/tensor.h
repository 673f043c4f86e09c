#pragma once
// Tensors inside saved graphs: the bytes of v0.10's array format, in base64.

#include <string>
#include <string_view>

#include "runtime/ndarray.h"

namespace tessera {

/// u64 magic, u64 0, device, i32 ndim, dtype, i64 shape[ndim], i64 bytes, data; always as of the CPU.
std::string tensor_to_base64(const NDArray& tensor);
/// Throws ValueError for text that is not base64 or whose sizes do not add up.
NDArray tensor_from_base64(std::string_view text);

std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text);

}  // namespace tessera
