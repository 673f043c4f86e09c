// Relay text: any bytes are read as a module or rejected. What is read is typed, printed and read again.

#include "expect_error.h"
#include "relay/parser/parser.h"
#include "relay/type/infer_type.h"
#include "runtime/registry.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  String text(std::string(reinterpret_cast<const char*>(data), size));
  expect_value_or_error([&] {
    IRModule mod = relay::infer_type(relay::Parser(IRModule(), "fuzz", text, {}).module());
    std::string printed = get_global("ir.AsText")(mod, true, nullptr).to<std::string>();
    relay::Parser(IRModule(), "again", String(printed), {}).module();
  });
  return 0;
}
