// Modules whose code is a shared library, and the one made of symbols that linked-in code registered.

#include <dlfcn.h>
#include <link.h>

#include <map>
#include <mutex>

#include "runtime/archive/files.h"
#include "runtime/cpu/features.h"
#include "runtime/module/compiled_code.h"
#include "runtime/module/elf_check.h"
#include "runtime/module/library_module.h"
#include "runtime/package/file_seal.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr const char* kBlob = "__tvm_dev_mblob";

class Library {
 public:
  explicit Library(const std::string& path) {
    // A name without a slash would be searched in the system's folders.
    std::string file = path.find('/') == path.npos ? "./" + path : path;
    check_seal(file, "library");
    check_library_file(file);
    for (const std::string& needs : cpu_needs_of(MappedFile(file, "the library").bytes()))
      check_cpu_features(needs, path);
    handle_ = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle_) throw Error(FileError) << "Failed to load dynamic shared library " << path << ": " << dlerror();
  }
  Library(const Library&) = delete;
  ~Library() { dlclose(handle_); }

  void* find(const char* name) const { return dlsym(handle_, name); }

  /// Bytes of the variable at `address` as the library's symbol table tells; 0 when it does not.
  static size_t size_of(void* address) {
    Dl_info info;
    ElfW(Sym)* symbol = nullptr;
    if (!dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) || !symbol) return 0;
    return symbol->st_size;
  }

 private:
  void* handle_;
};

class CodeModule : public ModuleBody {
 public:
  CodeModule(std::string key, FindSymbol find) : key_(std::move(key)), find_(std::move(find)) {}
  std::string type_key() const override { return key_; }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    return find_compiled(find_, name, self);
  }

 private:
  std::string key_;
  FindSymbol find_;
};

/// The module of loaded code together with what was packed into it. `blob_size` is an upper bound, 0 if not known.
Module module_of_code(const std::string& key, FindSymbol find, const std::string& what,
                      const std::function<size_t(void*)>& blob_size) {
  Module library = make_module<CodeModule>(key, find);
  fill_context(find, library.get());
  void* blob = find(kBlob);
  if (!blob) return library;
  uint64_t bytes;
  std::memcpy(&bytes, blob, sizeof bytes);
  size_t bound = blob_size(blob);
  if (bound && (bound < sizeof bytes || bytes > bound - sizeof bytes))
    throw Error(ValueError) << "corrupt modules in " << what << ": " << kBlob << " announces " << bytes
                            << " bytes, but there are " << bound - std::min(bound, sizeof bytes);
  if (bytes > SIZE_MAX) throw Error(ValueError) << "corrupt modules in " << what << ": " << bytes << " bytes of them";
  return unpack_imports({static_cast<const char*>(blob) + sizeof bytes, static_cast<size_t>(bytes)}, library,
                        "modules in " + what);
}

Module load_library(const std::string& path, const std::string&) {
  auto library = std::make_shared<Library>(path);
  return module_of_code(
      "library", [library](const char* name) { return library->find(name); }, path, &Library::size_of);
}

struct SystemLibrary {
  std::mutex mutex;
  std::map<std::string, void*, std::less<>> symbols;
  Module module;

  static SystemLibrary& instance() {
    static auto* library = new SystemLibrary;
    return *library;
  }
  void* find(const char* name) {
    std::lock_guard lock(mutex);
    auto it = symbols.find(std::string_view(name));
    return it == symbols.end() ? nullptr : it->second;
  }
  void check_cpu() {
    std::lock_guard lock(mutex);
    for (auto it = symbols.lower_bound(kCpuFeaturesSymbol); it != symbols.end(); ++it) {
      if (!it->first.starts_with(kCpuFeaturesSymbol)) break;
      check_cpu_features(static_cast<const char*>(it->second), "the system library");
    }
  }
};

Module system_library() {
  static std::mutex once;
  std::lock_guard lock(once);
  SystemLibrary& library = SystemLibrary::instance();
  if (library.module) return library.module;
  library.check_cpu();
  library.module = module_of_code(
      "system_lib", [&library](const char* name) { return library.find(name); }, "the system library",
      &Library::size_of);
  return library.module;
}

Globals library_module_globals{
    {"runtime.module.loadfile_so", load_library},
    {"runtime.SystemLib", system_library},
};

}  // namespace

void register_system_symbol(const std::string& name, void* address) {
  SystemLibrary& library = SystemLibrary::instance();
  std::lock_guard lock(library.mutex);
  auto [it, added] = library.symbols.try_emplace(name, address);
  if (!added && it->second != address)
    throw Error(ValueError) << "two pieces of linked-in code have a symbol " << name << " for the system library";
}

}  // namespace tessera
