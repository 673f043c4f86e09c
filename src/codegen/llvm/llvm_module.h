#pragma once
// The runtime module of type "llvm": code for a CPU, compiled to an object at first need and run in memory.

#include "codegen/llvm/jit.h"
#include "codegen/llvm/target_machine.h"
#include "runtime/module.h"

namespace tessera::codegen {

class LLVMModule : public ModuleBody {
 public:
  /// Takes a finished (optimised and verified) module together with the context it lives in.
  LLVMModule(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module, Machine machine);
  ~LLVMModule() override;

  std::string type_key() const override { return "llvm"; }
  std::string format() override { return "o"; }
  bool is_dso_exportable() const override { return true; }
  PackedFunc get_function(const std::string& name, const Module& self) override;
  bool implements_function(const std::string& name, const Module& self) override;
  std::string get_source(const std::string& format) override;
  void save_to_file(const std::string& path, const std::string& format) override;

  /// The address of a symbol; compiles and links at the first call. Null when there is none.
  void* address_of(const std::string& symbol, const Module& self);

 private:
  const std::string& object();
  JitCode& linked(const ModuleNode* self);

  std::mutex mutex_;  // LLVM's context serves one thread at a time
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  Machine machine_;
  std::string object_;
  std::unique_ptr<JitCode> jit_;
};

}  // namespace tessera::codegen
