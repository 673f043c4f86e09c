// An object file carried as a module: its functions are linked into the library that is exported, not called before.

#include "runtime/archive/files.h"
#include "runtime/module/module.h"
#include "runtime/package/file_seal.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

class StaticLibrary final : public ModuleBody {
 public:
  StaticLibrary(std::string object, std::vector<std::string> names)
      : object_(std::move(object)), names_(std::move(names)) {}

  std::string type_key() const override { return "static_library"; }
  std::string format() override { return "o"; }
  bool is_dso_exportable() const override { return true; }
  bool implements_function(const std::string& name, const Module&) override {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "get_func_names") {
      Array<String> names;
      for (const std::string& known : names_) names.push_back(known);
      return typed(name, [names] { return names; });
    }
    if (!implements_function(name, self)) return nullptr;
    throw Error(RuntimeError) << "function " << name
                              << " is in an object file that is not linked yet; export the library and load it";
  }

  void save_to_file(const std::string& path, const std::string&) override { write_whole_file(path, object_); }

 private:
  std::string object_;
  std::vector<std::string> names_;
};

Module load_static_library(std::string path, Array<String> names) {
  check_seal(path, "object file");
  std::string object(MappedFile(path, "the object file").bytes());
  std::vector<std::string> functions;
  for (const String& name : names) functions.push_back(name.str());
  return make_module<StaticLibrary>(std::move(object), std::move(functions));
}

Globals static_library_globals{{"runtime.ModuleLoadStaticLibrary", load_static_library}};

}  // namespace
}  // namespace tessera
