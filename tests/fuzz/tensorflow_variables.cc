// The table of a SavedModel's variables: any bytes are read, or rejected.

#include "expect_error.h"
#include "frontend/tensorflow/bundle.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    const tensorflow::Bundle variables("no file", bytes);
    if (variables.has("variable")) variables.read("variable");
  });
  return 0;
}
