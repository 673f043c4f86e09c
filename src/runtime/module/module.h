#pragma once
// Modules: compiled or interpreted functions found by name, with the modules they import.
//
// A kind of module (a loaded library, LLVM code, CUDA kernels, an executor) is a ModuleBody; ModuleNode is the counted
// object around it that all kinds share:   Module m = make_module<CudaModule>(ptx, functions);

#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/byte_stream.h"
#include "runtime/packed_func.h"

namespace tessera {

class Module;
class ModuleBody;

struct ModuleNode : Object {
  std::unique_ptr<ModuleBody> body;
  std::vector<Ref<ModuleNode>> imports;

  static constexpr NodeInfo info{"runtime.Module", &Object::info, Role::Identity, kTesseraModule};
  static void fields(auto) {}

  ModuleNode();
  ModuleNode(const ModuleNode&) = delete;
  ~ModuleNode();

  /// What compiled code of this module means by `name`: a function of an imported module, else a global one. The
  /// answer is remembered, and stays valid as long as this module.
  const PackedFuncNode* function_of_environment(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, PackedFunc> environment_;
};

/// The name under which the main function of a module can be asked for.
inline constexpr const char* kModuleMain = "__tvm_main__";

class Module : public Ref<ModuleNode> {
 public:
  using Ref::Ref;
  Module(const Ref<ModuleNode>& ref) : Ref(ref) {}
  explicit Module(std::unique_ptr<ModuleBody> body);

  ModuleBody* operator->() const { return checked()->body.get(); }
  /// The function, or an empty one. Imported modules are asked too when `query_imports` is set.
  PackedFunc get_function(const std::string& name, bool query_imports = false) const;
  /// Compiled code in this module may call functions of `other` from now on. A cycle is an error.
  void import_module(const Module& other) const;
  const std::vector<Ref<ModuleNode>>& imports() const { return checked()->imports; }
};

/// What a kind of module can do. Calls a kind does not offer throw and say so.
class ModuleBody {
 public:
  virtual ~ModuleBody() = default;
  virtual std::string type_key() const = 0;
  /// The function, or an empty one. Its code must live as long as it does: keep `self` inside.
  virtual PackedFunc get_function(const std::string& name, const Module& self) = 0;
  virtual bool implements_function(const std::string& name, const Module& self) {
    return get_function(name, self).defined();
  }
  /// The form of what save_to_file writes when not told: "o", "ptx", ...
  virtual std::string format() { return ""; }
  virtual void save_to_file(const std::string& path, const std::string& format);
  /// The text form; an empty string where there is none.
  virtual std::string get_source(const std::string& format);
  /// Writes what the global function `runtime.module.loadbinary_<type_key>` reads from its ByteReader* argument.
  virtual void save_to_binary(ByteWriter& out);
  /// True where save_to_file gives something a linker takes.
  virtual bool is_dso_exportable() const { return false; }
};

template <class Body, class... A>
Module make_module(A&&... args) {
  return Module(std::make_unique<Body>(std::forward<A>(args)...));
}

/// Loads a module from a file. The form is the file's suffix when `format` is empty.
Module load_module(const std::string& path, const std::string& format = "");

/// All modules that `root` reaches through imports, itself first, each once.
std::vector<Module> reachable_modules(const Module& root);

/// The import tree of `root` as a binary (without the leading size): what `__tvm_dev_mblob` holds after 8 bytes of
/// length. Modules that a linker takes are stood for by "_lib", the library the bytes lie in.
std::string pack_imports(const Module& root);
/// The same into a stream: what is large there is not copied.
void write_imports(ByteWriter& out, const Module& root);
/// Reads the same back. `library` is what "_lib" means; `what` names the source in messages. Returns the root.
Module unpack_imports(std::string_view data, const Module& library, const std::string& what);

}  // namespace tessera
