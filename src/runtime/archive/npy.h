#pragma once
// Tensors in NumPy's files: one in a .npy file, several by name in a .npz file (a zip archive of .npy files).
//
// Element types: bool, integers of 8 to 64 bits, float16 to float64, in either byte order, row- or column-major. bfloat16,
// which NumPy does not know, is written as uint16 holding its bits; integers of fewer than 8 bits as whole bytes. Objects
// (pickle), strings, complex numbers and records are rejected by name. Reading asks for memory only once the file is seen
// to hold (or, compressed, to announce no more than a thousandfold of) the bytes of a tensor.

#include <utility>

#include "runtime/ndarray.h"

namespace tessera {

using NamedTensors = std::vector<std::pair<std::string, NDArray>>;

/// The tensor in the bytes of a .npy file; `what` names it in messages.
NDArray read_npy(std::string_view bytes, const std::string& what);
/// What stands before the elements of a row-major tensor in a .npy file.
std::string npy_header(std::span<const int64_t> shape, DataType dtype);

/// The tensors in the bytes of a .npz file in its order, or the only one of a .npy file, whose name is "".
NamedTensors read_npz(std::string_view bytes, const std::string& what);
/// The tensors of a .npz file in its order, or the only one of a .npy file, whose name is "".
NamedTensors load_npz(const std::string& path);
/// Writes a .npz file by rename, as numpy.savez does: members are stored. Tensors of other devices are copied.
void save_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace tessera
