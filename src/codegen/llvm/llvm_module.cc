#include "codegen/llvm/llvm_module.h"

#include <fstream>

#include "codegen/llvm/emit.h"
#include "runtime/compiled_code.h"
#include "runtime/file_seal.h"

namespace tessera::codegen {
namespace {

std::string suffix_of(const std::string& path) {
  size_t dot = path.rfind('.');
  return dot == path.npos || path.find('/', dot) != path.npos ? "" : path.substr(dot + 1);
}

/// Six parameters and a status: the signature of compiled functions.
bool is_packed(const llvm::Function& function) {
  const llvm::FunctionType* type = function.getFunctionType();
  if (type->getNumParams() != 6 || !type->getReturnType()->isIntegerTy(32)) return false;
  for (unsigned i = 0; i < 6; ++i)
    if (i == 2 ? !type->getParamType(i)->isIntegerTy(32) : !type->getParamType(i)->isPointerTy()) return false;
  return true;
}

}  // namespace

LLVMModule::LLVMModule(std::unique_ptr<llvm::LLVMContext> context, std::unique_ptr<llvm::Module> module,
                       Machine machine)
    : context_(std::move(context)), module_(std::move(module)), machine_(std::move(machine)) {}

LLVMModule::~LLVMModule() = default;

const std::string& LLVMModule::object() {
  if (object_.empty()) object_ = emit_object(*module_, machine_);
  return object_;
}

JitCode& LLVMModule::linked(const ModuleNode* self) {
  if (!jit_) {
    if (!machine_.is_host())
      throw Error(RuntimeError) << "code for target \"" << machine_.text << "\" (" << machine_.triple
                                << ") cannot run on this machine; export it and load it where it belongs";
    auto jit = std::make_unique<JitCode>(object(), module_->getName().str());
    fill_context([&](const char* name) -> void* { return module_->getNamedValue(name) ? jit->find(name) : nullptr; },
                 self);
    jit_ = std::move(jit);
  }
  return *jit_;
}

void* LLVMModule::address_of(const std::string& symbol, const Module& self) {
  std::lock_guard lock(mutex_);
  llvm::GlobalValue* value = module_->getNamedValue(symbol);
  if (!value || value->isDeclaration() || value->hasLocalLinkage()) return nullptr;
  return linked(self.get()).find(symbol);
}

bool LLVMModule::implements_function(const std::string& name, const Module&) {
  std::lock_guard lock(mutex_);
  if (name == kModuleMain) return module_->getNamedValue(kModuleMain) != nullptr;
  llvm::Function* function = module_->getFunction(name);
  return function && !function->isDeclaration() && !function->hasLocalLinkage();
}

PackedFunc LLVMModule::get_function(const std::string& name, const Module& self) {
  if (name == "_get_target_string")
    return PackedFunc([text = machine_.text](Args, Any* result) { *result = Any(text); });
  if (name == "__tvm_is_system_module") return PackedFunc([](Args, Any* result) { *result = Any(false); });
  if (name == "get_func_names") {
    std::lock_guard lock(mutex_);
    Array<String> names;
    for (const llvm::Function& function : *module_)
      if (!function.isDeclaration() && !function.hasLocalLinkage()) names.push_back(function.getName().str());
    return PackedFunc([names](Args, Any* result) { *result = Any(names); });
  }
  {
    std::lock_guard lock(mutex_);
    llvm::Function* function = module_->getFunction(name);
    if (function && !function->isDeclaration() && !function->hasLocalLinkage() && !is_packed(*function))
      throw Error(TypeError) << "function " << name << " is a plain C function and cannot be called by name; "
                             << "MakePackedAPI makes functions that can";
  }
  return find_compiled([&](const char* symbol) { return address_of(symbol, self); }, name, self);
}

std::string LLVMModule::get_source(const std::string& format) {
  std::lock_guard lock(mutex_);
  if (format.empty() || format == "ll") return emit_text(*module_);
  if (format == "s" || format == "asm") return emit_assembly(*module_, machine_);
  throw Error(ValueError) << "an llvm module has no source in format \"" << format << "\"; it may be ll, s or asm";
}

void LLVMModule::save_to_file(const std::string& path, const std::string& format) {
  std::string form = format.empty() ? suffix_of(path) : format;
  std::string bytes;
  {
    std::lock_guard lock(mutex_);
    if (form == "o" || form == "obj") {
      bytes = object();
      if (bytes.starts_with("\177ELF")) bytes += seal_of(bytes);
    } else if (form == "s" || form == "asm") {
      bytes = emit_assembly(*module_, machine_);
    } else if (form == "ll") {
      bytes = emit_text(*module_);
    } else if (form == "bc") {
      bytes = emit_bitcode(*module_);
    } else {
      throw Error(ValueError) << "an llvm module cannot be saved as \"" << path << "\" in format \"" << form
                              << "\"; it may be o, s, ll or bc";
    }
  }
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  if (!file.flush()) throw Error(FileError) << "cannot write " << path;
}

}  // namespace tessera::codegen
