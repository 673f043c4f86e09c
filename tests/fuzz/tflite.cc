// TFLite models: any bytes are read and imported, or rejected.

#include "expect_error.h"
#include "frontend/tflite/importer.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto memory = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] { tflite::import_model(tflite::parse_model(*memory, memory), {}); });
  expect_value_or_error([&] { tflite::survey_model(tflite::parse_model(*memory, memory), {}); });
  return 0;
}
