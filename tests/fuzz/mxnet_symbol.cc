// MXNet's symbols: any text is read and imported, or rejected.

#include "frontend/mxnet/mxnet.h"
#include "import_layers.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] { import_layers(mxnet::read_symbol(bytes, {}), mxnet::converters()); });
  return 0;
}
