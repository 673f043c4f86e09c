// Parameter files: any bytes are read as named tensors or rejected, without memory for what is not there.

#include "runtime/package/params.h"
#include "expect_error.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] { save_params(load_params({reinterpret_cast<const char*>(data), size})); });
  return 0;
}
