// CoreML's models: any bytes are a neural network that is imported, or rejected.

#include "frontend/coreml/coreml.h"
#include "import_layers.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  coreml::is_mlmodel(bytes);
  expect_value_or_error([&] { import_layers(coreml::read_model(bytes, "fuzz"), coreml::converters()); });
  return 0;
}
