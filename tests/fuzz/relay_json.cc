// JSON of programs (ir.load_json): any bytes are read as an object or rejected.

#include "expect_error.h"
#include "ir/json/json.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] { save_json(load_json(std::string(reinterpret_cast<const char*>(data), size))); });
  return 0;
}
