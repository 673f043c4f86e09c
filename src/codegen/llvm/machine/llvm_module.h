#pragma once
// The runtime module of type "llvm": code for a CPU, run in memory.

#include <functional>

#include "codegen/llvm/machine/jit.h"
#include "codegen/llvm/units.h"
#include "runtime/module/module.h"

namespace tessera::codegen {

class LLVMModule : public ModuleBody {
 public:
  /// Compiles the functions; LLVM's own form of them is made again when somebody asks for it.
  LLVMModule(NamedFunctions functions, Machine machine, std::string entry);
  /// Compiles the functions and adds cached units; `source` gives the functions of the latter.
  LLVMModule(NamedFunctions functions, Machine machine, std::vector<Unit> cached,
             std::function<NamedFunctions()> source);
  /// Compiles a finished (optimised and verified) module.
  LLVMModule(OwnedModule module, Machine machine);
  ~LLVMModule() override;

  std::string type_key() const override { return "llvm"; }
  std::string format() override { return "o"; }
  bool is_dso_exportable() const override { return true; }
  PackedFunc get_function(const std::string& name, const Module& self) override;
  bool implements_function(const std::string& name, const Module& self) override;
  std::string get_source(const std::string& format) override;
  void save_to_file(const std::string& path, const std::string& format) override;

  const std::vector<Unit>& units() const { return units_; }
  /// The address of a symbol; compiles and links at the first call. Null when there is none.
  void* address_of(const std::string& symbol, const Module& self);

 private:
  const llvm::Module& whole();
  JitCode& linked(const ModuleNode* self);

  Machine machine_;
  std::string entry_;
  NamedFunctions functions_;                // empty when made from a finished module
  std::function<NamedFunctions()> source_;  // of units that were cached; empty when there are none
  std::vector<Unit> units_;
  std::unordered_map<std::string, Symbol::Kind> symbols_;
  std::mutex mutex_;   // of what follows; LLVM's context serves one thread at a time
  OwnedModule whole_;  // all functions, for those who want to read them
  std::unique_ptr<JitCode> jit_;
};

}  // namespace tessera::codegen
