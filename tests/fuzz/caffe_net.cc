// Caffe's networks: any bytes are layers (as text or not), or weights of a network, or rejected.

#include "expect_error.h"
#include "frontend/caffe/caffe.h"

using namespace tessera;

namespace {

constexpr std::string_view kLayers = R"(input: "data" input_shape { dim: [1, 3, 6, 6] }
layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "n" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "f" type: "InnerProduct" bottom: "c" top: "f" inner_product_param { num_output: 2 } })";

void import(std::string_view layers, std::string_view weights) {
  expect_value_or_error([&] {
    frontend::GraphModel model = caffe::read_net(layers, weights, "fuzz");
    for (frontend::GraphInput& input : model.inputs)
      if (!input.has_shape) input.shape = {1, 4, 6, 6}, input.has_shape = true;
    frontend::import_graph_model(model, caffe::converters(), {});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  caffe::is_caffemodel(bytes);
  import(bytes, {});
  import(kLayers, bytes);
  return 0;
}
