// CoreML's models: any bytes are a neural network that is imported, or rejected.

#include "expect_error.h"
#include "frontend/coreml/coreml.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  coreml::is_mlmodel(bytes);
  expect_value_or_error([&] {
    frontend::GraphModel model = coreml::read_model(bytes, "fuzz");
    for (frontend::GraphInput& input : model.inputs)
      if (!input.has_shape) input.shape = {1, 4, 6, 6}, input.has_shape = true;
    frontend::import_graph_model(model, coreml::converters(), {});
  });
  return 0;
}
