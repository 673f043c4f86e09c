// Caffe2's networks: any bytes are a network that computes, or one that fills tensors, or rejected.

#include "frontend/caffe2/caffe2.h"
#include "import_layers.h"

using namespace tessera;

namespace {

constexpr std::string_view kPredict = R"(op { input: "data" input: "w" input: "b" output: "y" type: "FC" }
op { input: "data" input: "w" output: "z" type: "Conv" arg { name: "kernel" i: 3 } }
external_input: "data" external_output: "y" external_output: "z")";

void import(std::string_view init, std::string_view predict) {
  expect_value_or_error([&] {
    frontend::GraphModel model = caffe2::read_nets(init, predict, "fuzz");
    for (frontend::GraphInput& input : model.inputs) input.has_shape = false;
    import_layers(std::move(model), caffe2::converters());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  caffe2::is_net(bytes);
  import({}, bytes);
  import(bytes, kPredict);
  return 0;
}
