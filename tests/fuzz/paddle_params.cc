// PaddlePaddle's files of parameters: any bytes are read, or rejected.

#include "expect_error.h"
#include "frontend/paddle/paddle.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    paddle::read_params(bytes, {{"b", {4}, DataType::Float(32)}, {"w", {4, 4}, DataType::Float(32)}}, "fuzz");
  });
  return 0;
}
