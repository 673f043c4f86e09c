// MXNet's symbols: any text is read and imported, or rejected.

#include "expect_error.h"
#include "frontend/mxnet/mxnet.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    mxnet::GraphModel model = mxnet::read_symbol(bytes, {});
    for (frontend::GraphInput& input : model.inputs)
      if (!input.has_shape) input.shape = {1, 4, 6, 6}, input.has_shape = true;
    frontend::import_graph_model(model, mxnet::converters(), {});
  });
  return 0;
}
