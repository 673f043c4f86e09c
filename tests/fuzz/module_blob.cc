// What an exported library holds beside its code: modules of any kind that can be packed, and the tree of their imports.
// Any bytes are read as such a tree, or rejected.

#include "expect_error.h"
#include "runtime/module/module.h"

using namespace tessera;

namespace {

/// Stands for the code of the library.
class Code final : public ModuleBody {
 public:
  std::string type_key() const override { return "code"; }
  PackedFunc get_function(const std::string&, const Module&) override { return nullptr; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] {
    Module root = unpack_imports({reinterpret_cast<const char*>(data), size}, make_module<Code>(), "the library");
    for (const Module& module : reachable_modules(root)) {
      module->type_key();
      module.get_function("get_graph_json");
    }
  });
  return 0;
}
