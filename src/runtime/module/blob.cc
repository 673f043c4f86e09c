// The import tree of a module as bytes inside its library, and back.
//
//   u64 count, then `count` entries:  str "_lib"                  the library itself
//                                     str type_key, its binary    any other module
//                                     str "_import_tree", vector row_ptr, vector children   (last)
//
// Without an import tree the first module imports all others.

#include <fmt/format.h>
#include <algorithm>

#include "runtime/module/module.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr const char* kLibrary = "_lib";
constexpr const char* kImportTree = "_import_tree";

/// Edges between groups of modules: everything a linker takes is one group, every other module its own.
struct Groups {
  std::vector<Module> modules;  // one for each group
  std::vector<std::vector<size_t>> children;
  size_t library = SIZE_MAX;

  explicit Groups(const Module& root) {
    std::vector<Module> all = reachable_modules(root);
    std::unordered_map<const ModuleNode*, size_t> group;
    for (const Module& module : all) {
      if (!module->is_dso_exportable()) {
        group[module.get()] = modules.size();
      } else {
        if (library == SIZE_MAX) library = modules.size();
        group[module.get()] = library;
        if (library < modules.size()) continue;
      }
      modules.push_back(module);
    }
    children.resize(modules.size());
    for (const Module& module : all) {
      size_t from = group[module.get()];
      for (const auto& import : module.imports()) {
        size_t to = group[import.get()];
        auto& list = children[from];
        if (to != from && std::find(list.begin(), list.end(), to) == list.end()) list.push_back(to);
      }
    }
    if (library != SIZE_MAX) break_circles();
  }

  /// What the library imports may itself import code that was merged into the library; that link is not needed,
  /// because the importing side finds its callees by the library's own symbols.
  void break_circles() {
    std::vector<size_t> reached{library};
    std::vector<bool> seen(modules.size());
    seen[library] = true;
    for (size_t i = 0; i < reached.size(); ++i) {
      auto& list = children[reached[i]];
      std::erase(list, library);
      for (size_t child : list)
        if (!seen[child]) {
          seen[child] = true;
          reached.push_back(child);
        }
    }
  }
};

Module load_binary(const std::string& type_key, ByteReader& in) {
  PackedFunc loader = find_global("runtime.module.loadbinary_" + type_key);
  if (!loader)
    throw Error(RuntimeError) << "this build cannot load a module of type \"" << type_key
                              << "\": there is no function runtime.module.loadbinary_" << type_key;
  return loader(static_cast<void*>(&in)).to<Module>();
}

bool has_circle(const std::vector<uint64_t>& row_ptr, const std::vector<uint64_t>& children) {
  size_t count = row_ptr.size() - 1;
  std::vector<size_t> waiting(count);
  for (uint64_t child : children) ++waiting[child];
  std::vector<size_t> ready;
  for (size_t i = 0; i < count; ++i)
    if (waiting[i] == 0) ready.push_back(i);
  for (size_t i = 0; i < ready.size(); ++i)
    for (uint64_t at = row_ptr[ready[i]]; at < row_ptr[ready[i] + 1]; ++at)
      if (--waiting[children[at]] == 0) ready.push_back(children[at]);
  return ready.size() != count;
}

void read_tree(ByteReader& in, const std::vector<Module>& modules) {
  std::vector<uint64_t> row_ptr = in.read_vector("the import tree");
  std::vector<uint64_t> children = in.read_vector("the import tree");
  bool is_sound = row_ptr.size() == modules.size() + 1 && row_ptr.front() == 0 && row_ptr.back() == children.size() &&
                  std::is_sorted(row_ptr.begin(), row_ptr.end()) &&
                  std::all_of(children.begin(), children.end(), [&](uint64_t c) { return c < modules.size(); });
  if (!is_sound || has_circle(row_ptr, children)) in.fail("the import tree", "does not fit the modules before it");
  for (size_t i = 0; i < modules.size(); ++i)
    for (uint64_t at = row_ptr[i]; at < row_ptr[i + 1]; ++at)
      modules[i].edit()->imports.push_back(modules[children[at]]);
}

}  // namespace

std::string pack_imports(const Module& root) {
  ByteWriter out;
  write_imports(out, root);
  return out.take();
}

void write_imports(ByteWriter& out, const Module& root) {
  Groups groups(root);
  out.write(uint64_t{groups.modules.size() + 1});
  for (size_t i = 0; i < groups.modules.size(); ++i) {
    const Module& module = groups.modules[i];
    if (i == groups.library) {
      out.write(kLibrary);
    } else {
      out.write(module->type_key());
      module->save_to_binary(out);
    }
  }
  std::vector<uint64_t> row_ptr{0}, children;
  for (const auto& list : groups.children) {
    children.insert(children.end(), list.begin(), list.end());
    row_ptr.push_back(children.size());
  }
  out.write(kImportTree);
  out.write(row_ptr);
  out.write(children);
}

Module unpack_imports(std::string_view data, const Module& library, const std::string& what) {
  ByteReader in(data, what);
  size_t count = in.read_count(sizeof(uint64_t), "the number of modules");
  std::vector<Module> modules;
  bool has_tree = false;
  for (size_t i = 0; i < count; ++i) {
    std::string key = in.read_string("the type of a module");
    if (key == kLibrary) {
      modules.push_back(library);
    } else if (key == kImportTree) {
      if (has_tree) in.fail("the import tree", "comes twice");
      has_tree = true;
      read_tree(in, modules);
    } else {
      modules.push_back(load_binary(key, in));
    }
  }
  bool has_library = std::any_of(modules.begin(), modules.end(), [&](const Module& m) { return m.same_as(library); });
  if (!has_tree) {  // the older form: the library is the root, and is not always mentioned
    for (const Module& module : modules)
      if (!module.same_as(library)) library.import_module(module);
    return library;
  }
  if (modules.empty() || !has_library) in.fail("the list of modules", "does not mention the library it lies in");
  return modules[0];
}

namespace {

/// C source of the blob: the symbol `__tvm_dev_mblob`, and where asked its registration in the system library.
std::string pack_imports_to_c(Module module, bool system_lib) {
  std::string data = pack_imports(module);
  ByteWriter size;
  size.write(uint64_t{data.size()});
  data.insert(0, size.take());
  fmt::memory_buffer out;
  auto at = std::back_inserter(out);
  fmt::format_to(at,
                 "#ifdef _WIN32\n#define TVM_EXPORT __declspec(dllexport)\n#else\n#define TVM_EXPORT\n#endif\n"
                 "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
                 "TVM_EXPORT extern const unsigned char __tvm_dev_mblob[];\n"
                 "const unsigned char __tvm_dev_mblob[{}] = {{",
                 data.size());
  for (size_t i = 0; i < data.size(); ++i)
    fmt::format_to(at, "{}0x{:02x},", i % 20 ? "" : "\n  ", static_cast<unsigned char>(data[i]));
  fmt::format_to(at, "\n}};\n");
  if (system_lib)
    fmt::format_to(at,
                   "extern int TVMBackendRegisterSystemLibSymbol(const char*, void*);\n"
                   "__attribute__((constructor)) static void register_mblob(void) {{\n"
                   "  TVMBackendRegisterSystemLibSymbol(\"__tvm_dev_mblob\", (void*)__tvm_dev_mblob);\n}}\n");
  fmt::format_to(at, "#ifdef __cplusplus\n}}\n#endif\n");
  return fmt::to_string(out);
}

Globals blob_globals{{"runtime.ModulePackImportsToC", pack_imports_to_c}};

}  // namespace
}  // namespace tessera
