#include "runtime/module/module.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "runtime/archive/files.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

std::string suffix_of(const std::string& path) {
  size_t dot = path.rfind('.');
  size_t slash = path.rfind('/');
  if (dot == path.npos || (slash != path.npos && dot < slash)) return "";
  return path.substr(dot + 1);
}

}  // namespace

ModuleNode::ModuleNode() = default;
ModuleNode::~ModuleNode() = default;

const PackedFuncNode* ModuleNode::function_of_environment(const std::string& name) const {
  std::lock_guard lock(mutex_);
  PackedFunc& known = environment_[name];
  if (known) return known.get();
  for (const auto& import : imports)
    if ((known = Module(import).get_function(name, true))) return known.get();
  if ((known = find_global(name))) return known.get();
  throw Error(RuntimeError) << "Cannot find function " << name
                            << " in the imported modules or global registry. A compiled module calls it; import the "
                               "module that has it, or register it with register_func";
}

Module::Module(std::unique_ptr<ModuleBody> body) : Ref(nullptr) {
  auto* node = new ModuleNode;
  node->type_ = &type_of<ModuleNode>;
  node->body = std::move(body);
  *this = Module(node);
}

std::vector<Module> reachable_modules(const Module& root) {
  std::vector<Module> found{root};
  std::unordered_set<const ModuleNode*> seen{root.get()};
  for (size_t i = 0; i < found.size(); ++i) {
    Module at = found[i];
    for (const auto& import : at.imports())
      if (seen.insert(import.get()).second) found.emplace_back(import);
  }
  return found;
}

PackedFunc Module::get_function(const std::string& name, bool query_imports) const {
  PackedFunc found = checked()->body->get_function(name, *this);
  if (found || !query_imports) return found;
  std::vector<Module> modules = reachable_modules(*this);
  for (size_t i = 1; i < modules.size() && !found; ++i) found = modules[i]->get_function(name, modules[i]);
  return found;
}

void Module::import_module(const Module& other) const {
  if (!other) throw Error(ValueError) << "import_module: there is no module to import";
  for (const Module& reached : reachable_modules(other))
    if (reached.same_as(*this))
      throw Error(ValueError) << "import_module: the imported " << other->type_key()
                              << " module already imports this one; imports cannot go in a circle";
  edit()->imports.push_back(other);
}

void ModuleBody::save_to_file(const std::string& path, const std::string&) {
  throw Error(RuntimeError) << "Module[" << type_key() << "] cannot be saved as the file " << path;
}

std::string ModuleBody::get_source(const std::string&) { return ""; }

void ModuleBody::save_to_binary(ByteWriter&) {
  throw Error(RuntimeError) << "Module[" << type_key() << "] cannot be written into a library";
}

Module load_module(const std::string& path, const std::string& format) {
  std::string suffix = format.empty() ? suffix_of(path) : format;
  if (suffix.empty())
    throw Error(ValueError) << "cannot tell from its name what kind of module " << path
                            << " is; give a format, or a name with a suffix such as .so";
  if (suffix == "dll" || suffix == "dylib" || suffix == "dso") suffix = "so";
  PackedFunc loader = find_global("runtime.module.loadfile_" + suffix);
  if (!loader) {
    Error error(ValueError);
    error << "Loader for `." << suffix << "` files is not registered, resolved to (runtime.module.loadfile_" << suffix
          << ") in the global registry; this build reads";
    for (const std::string& name : global_names())
      if (name.starts_with("runtime.module.loadfile_")) error << " ." << name.substr(24);
    throw error;
  }
  if (access(path.c_str(), R_OK) != 0)
    throw Error(file_error(errno)) << "cannot load the module " << path << ": " << std::strerror(errno);
  return loader(path, suffix).to<Module>();
}

namespace {

register_types<ModuleNode> module_types;

Module import_at(Module module, int64_t i) {
  if (i < 0 || i >= static_cast<int64_t>(module.imports().size()))
    throw Error(IndexError) << "the module has " << module.imports().size() << " imports; there is no number " << i;
  return module.imports()[static_cast<size_t>(i)];
}

bool implements_function(Module module, std::string name, bool query_imports) {
  if (!query_imports) return module->implements_function(name, module);
  std::vector<Module> modules = reachable_modules(module);
  return std::any_of(modules.begin(), modules.end(), [&](Module& m) { return m->implements_function(name, m); });
}

Globals module_globals{
    {"runtime.ModuleGetTypeKey", [](Module m) { return m->type_key(); }},
    {"runtime.ModuleGetFormat", [](Module m) { return m->format(); }},
    {"runtime.ModuleGetSource", [](Module m, std::string format) { return m->get_source(format); }},
    {"runtime.ModuleSaveToFile", [](Module m, std::string path, std::string format) { m->save_to_file(path, format); }},
    {"runtime.ModuleLoadFromFile", [](std::string path, std::string format) { return load_module(path, format); }},
    {"runtime.ModuleIsDSOExportable", [](Module m) { return m->is_dso_exportable(); }},
    {"runtime.ModuleImportsSize", [](Module m) { return m.imports().size(); }},
    {"runtime.ModuleGetImport", import_at},
    {"runtime.ModuleImport",
     [](Module m, Module other) {
       if (m->type_key() == "rpc") get_global("rpc.ImportRemoteModule")(m, other);
       else m.import_module(other);
     }},
    {"runtime.ModuleClearImports", [](Module m) { m.edit()->imports.clear(); }},
    {"runtime.ModuleImplementsFunction", implements_function},
    {"runtime.ModuleGetFunction",
     [](Module m, std::string name, bool query_imports) { return m.get_function(name, query_imports); }},
    {"runtime.ModulePackImports", [](Module m) { return Bytes(pack_imports(m)); }},
};

}  // namespace
}  // namespace tessera
