// Caffe's networks: any bytes are layers (as text or not), or weights of a network, or rejected.

#include "frontend/caffe/caffe.h"
#include "import_layers.h"

using namespace tessera;

namespace {

constexpr std::string_view kLayers = R"(input: "data" input_shape { dim: [1, 3, 6, 6] }
layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "n" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "f" type: "InnerProduct" bottom: "c" top: "f" inner_product_param { num_output: 2 } })";

void import(std::string_view layers, std::string_view weights) {
  expect_value_or_error([&] { import_layers(caffe::read_net(layers, weights, "fuzz"), caffe::converters()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  caffe::is_caffemodel(bytes);
  import(bytes, {});
  import(kLayers, bytes);
  return 0;
}
