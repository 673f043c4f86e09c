// MXNet's files of parameters: any bytes are read, or rejected.

#include "expect_error.h"
#include "frontend/mxnet/mxnet.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] { mxnet::read_params(bytes, "fuzz"); });
  return 0;
}
