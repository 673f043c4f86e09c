// NumPy's files: any bytes are read as tensors or rejected, without memory for what they do not hold.

#include "expect_error.h"
#include "runtime/archive/npy.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    for (const auto& [name, tensor] : read_npz(bytes, "the file")) {
      if (name.find("..") != name.npos && (name.starts_with("../") || name.find("/../") != name.npos)) std::abort();
      npy_header(tensor.shape(), tensor.dtype());
    }
  });
  return 0;
}
