// ONNX models: any bytes are read and imported, or rejected. Data outside the file is looked for nowhere.

#include "expect_error.h"
#include "frontend/onnx/importer.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto memory = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    onnx::Model model = onnx::parse_model(*memory, memory, {});
    onnx::ImportOptions options;
    options.most_nodes = 2000;
    expect_value_or_error([&] { onnx::import_model(model, options); });
    onnx::survey_model(model, options);
  });
  return 0;
}
