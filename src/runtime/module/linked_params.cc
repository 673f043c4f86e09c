// The code is imported; the parameters are found by `_lookup_linked_param(name)`, None where there is none of the name.

#include "runtime/module/linked_params.h"

#include "runtime/package/params.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

class LinkedParams final : public ModuleBody {
 public:
  explicit LinkedParams(Map<String, NDArray> params) : params_(std::move(params)) {}

  std::string type_key() const override { return "linked_params"; }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "_lookup_linked_param")
      return typed(name, [self, this](String wanted) { return params_.get_or_null(wanted); });
    for (const auto& import : self.imports())  // the library's functions are this module's
      if (PackedFunc found = Module(import).get_function(name)) return found;
    return nullptr;
  }
  void save_to_binary(ByteWriter& out) override {
    write_sized(out, [&](ByteWriter& to) {
      write_params([&](std::string_view part) { to.raw(part.data(), part.size()); }, params_);
    });
  }

 private:
  Map<String, NDArray> params_;
};

Globals linked_params_globals{
    {"tvm.runtime.link_params", link_params},
    {"runtime.module.loadbinary_linked_params",
     [](void* stream) {
       std::string blob = static_cast<ByteReader*>(stream)->read_string("the parameters");
       return make_module<LinkedParams>(load_params(blob));
     }},
};

}  // namespace

Module link_params(const Module& library, Map<String, NDArray> params) {
  Module out = make_module<LinkedParams>(std::move(params));
  out.import_module(library);
  return out;
}

}  // namespace tessera
