// Darknet's networks: any text is a cfg, and any bytes are weights, or they are rejected. A zero byte ends the cfg.

#include "frontend/darknet/darknet.h"
#include "import_layers.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view cfg = bytes.substr(0, end);
  darknet::is_cfg(cfg);
  // Numbers of weights depend on the layers: where there are none left, zeros follow.
  std::string weights(bytes.substr(std::min(end + 1, bytes.size())));
  weights.resize(std::max<size_t>(weights.size(), 20));
  expect_value_or_error([&] {
    import_layers(darknet::read_network(darknet::read_cfg(cfg, "fuzz"), weights, {}, "fuzz"), darknet::converters());
  });
  return 0;
}
