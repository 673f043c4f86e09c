// Keras' files: any bytes are read and imported, or rejected.

#include "expect_error.h"
#include "frontend/keras/files.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    const frontend::GraphModel model = keras::read_file(bytes, "fuzz");
    expect_value_or_error([&] { keras::import_keras(model, "NHWC", {}); });
    std::vector<frontend::UnsupportedNode> unsupported;
    keras::import_keras(model, "NHWC", {}, &unsupported);
  });
  return 0;
}
