// A module whose functions are handed in, for tests of what works on modules.

#include <map>

#include "runtime/module/module.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

class FrontendTestModule : public ModuleBody {
 public:
  std::string type_key() const override { return "frontend_test"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "__add_function")
      return typed(
          name, [this, self](std::string function_name, PackedFunc function) { functions_[function_name] = function; });
    auto found = functions_.find(name);
    return found == functions_.end() ? PackedFunc(nullptr) : found->second;
  }

 private:
  std::map<std::string, PackedFunc> functions_;
};

Globals frontend_test_module_globals{{"testing.FrontendTestModule", [] { return make_module<FrontendTestModule>(); }}};

}  // namespace
}  // namespace tessera
