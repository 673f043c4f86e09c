// target.build.llvm and the other functions by which the rest of the compiler and Python reach LLVM.

#include <llvm/Config/llvm-config.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/codegen.h"
#include "codegen/llvm/context.h"
#include "codegen/llvm/host.h"
#include "codegen/llvm/machine/emit.h"
#include "codegen/llvm/machine/link.h"
#include "codegen/llvm/machine/llvm_module.h"
#include "codegen/unit_module.h"
#include "runtime/compiler_hooks.h"

namespace tessera::codegen {
namespace {

/// The function that a call of the module itself runs: the one marked, or the only one there is.
std::string entry_symbol(const NamedFunctions& functions) {
  std::vector<std::string> packed;
  for (const auto& [var, function] : functions) {
    ObjectRef symbol = function->attrs.get_attr(attr::kGlobalSymbol);
    if (!symbol) continue;
    if (function->attrs.is_true("tir.is_entry_func")) return downcast<String>(symbol).str();
    if (function->attrs.get_int(attr::kCallingConv, 0) == int(CallingConv::CPackedFunc))
      packed.push_back(downcast<String>(symbol).str());
  }
  return packed.size() == 1 ? packed[0] : "";
}

NamedFunctions functions_of(const IRModule& mod) {
  NamedFunctions functions;
  for (const auto& [var, function] : mod.sorted_functions()) {
    PrimFunc prim = downcast_or_null<PrimFunc>(function);
    if (!prim)
      throw Error(TypeError) << "function " << var->name_hint << " is a " << function->type_key()
                             << "; only PrimFuncs become machine code";
    functions.emplace_back(var, prim);
  }
  return functions;
}

Module build_llvm(const IRModule& mod, const Target& target) {
  NamedFunctions functions = functions_of(mod);
  return make_module<LLVMModule>(std::move(functions), read_machine(target), entry_symbol(functions));
}

Module load_text(const std::string& path, const std::string&) {
  OwnedModule out{make_context(), nullptr};
  llvm::SMDiagnostic problem;
  out.module = llvm::parseIRFile(path, problem, *out.context);
  llvm::Module* module = out.module.get();
  if (!module)
    throw Error(FileError) << "cannot load " << path << ": line " << problem.getLineNo() << ": "
                           << problem.getMessage().str();
  auto* flag = llvm::dyn_cast_or_null<llvm::MDString>(module->getModuleFlag(kTargetFlag));
  Machine machine = read_machine(Target::parse(flag ? flag->getString().str() : "llvm"));
  if (!module->getTargetTriple().empty()) machine.triple = module->getTargetTriple();
  verify(*module);
  return make_module<LLVMModule>(std::move(out), std::move(machine));
}

int64_t lookup_intrinsic(const std::string& name) {
  return static_cast<int64_t>(llvm::Function::lookupIntrinsicID(name));
}

std::string intrinsic_name(int64_t id) {
  if (id <= 0 || id >= llvm::Intrinsic::num_intrinsics)
    throw Error(ValueError) << "LLVM has no intrinsic of number " << id;
  return llvm::Intrinsic::getBaseName(static_cast<llvm::Intrinsic::ID>(id)).str();
}

bool target_enabled(const std::string& text) {
  try {
    make_target_machine(read_machine(Target::parse(text)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The address of a symbol of a module, for callers in C and for functions that are not packed.
void* symbol_address(Module module, const std::string& name) {
  auto* code = dynamic_cast<LLVMModule*>(module.operator->());
  if (!code) throw Error(TypeError) << "a module of type " << module->type_key() << " has no symbols in memory";
  void* address = code->address_of(name, module);
  if (!address) throw Error(ValueError) << "the module has no symbol " << name;
  return address;
}

void link_files(const Array<String>& files, const std::string& output, const Array<String>& needed,
                const std::string& blob) {
  link_shared({files.begin(), files.end()}, output, {needed.begin(), needed.end()}, blob);
}

[[maybe_unused]] const bool is_set = [] {
  compiler_hooks().link_shared = link_files;
  compiler_hooks().is_target_enabled = target_enabled;
  return true;
}();
Globals build_globals{
    {"target.build.llvm", build_llvm},
    {"codegen.codegen_blob", build_blob},
    {"codegen.llvm_target_enabled", target_enabled},
    {"codegen.llvm_symbol_address", symbol_address},
    {"codegen.link_shared", link_files},
    {"runtime.module.loadfile_ll", load_text},
    {"runtime.module.loadfile_bc", load_text},
    {"target.llvm_lookup_intrinsic_id", lookup_intrinsic},
    {"target.llvm_get_intrinsic_name", intrinsic_name},
    {"target.llvm_version_major", llvm_version},
    {"target.llvm_default_triple", host_triple},
    {"target.llvm_host_features", [] { return read_machine(Target::parse("llvm")).features; }},
    {"target.llvm_host_cpu", host_cpu},
};

}  // namespace

Module build_blob(const Bytes& data, bool for_system_library, const std::string& target) {
  if (for_system_library)
    throw Error(NotImplementedError) << "imports of a system library: link it as a shared library instead";
  Machine machine = read_machine(Target::parse(target.empty() ? "llvm" : target));
  std::unique_ptr<llvm::TargetMachine> target_machine = make_target_machine(machine);
  OwnedModule out{make_context(), nullptr};
  llvm::LLVMContext& context = *out.context;
  out.module = std::make_unique<llvm::Module>("imports", context);
  llvm::Module* module = out.module.get();
  module->setTargetTriple(machine.triple);
  module->setDataLayout(target_machine->createDataLayout());
  module->addModuleFlag(llvm::Module::Max, "PIC Level", 2);
  uint64_t size = data.str().size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += data.str();
  auto* constant = llvm::ConstantDataArray::getString(context, bytes, /*AddNull=*/false);
  auto* blob = new llvm::GlobalVariable(*module, constant->getType(), true, llvm::GlobalValue::ExternalLinkage,
                                        constant, "__tvm_dev_mblob");
  blob->setAlignment(llvm::Align(8));
  return make_module<LLVMModule>(std::move(out), std::move(machine));
}

int llvm_version() { return LLVM_VERSION_MAJOR; }
std::string host_triple() { return read_machine(Target::parse("llvm")).triple; }
std::string host_cpu() { return read_machine(Target::parse("llvm")).cpu; }

std::vector<UnitBytes> units_of(const Module& module) {
  std::vector<UnitBytes> out;
  auto* code = dynamic_cast<LLVMModule*>(module.operator->());
  if (!code) return out;
  for (const Unit& unit : code->units()) {
    out.push_back({{}, to_bytes(unit)});
    for (const Symbol& symbol : unit.symbols)
      if (symbol.kind != Symbol::Data) out.back().functions.push_back(symbol.name);
  }
  return out;
}

Module build_with_units(const IRModule& functions, const Target& target, const std::vector<std::string>& cached,
                        std::function<IRModule()> source) {
  std::vector<Unit> units;
  for (const std::string& bytes : cached) units.push_back(from_bytes(bytes));
  auto read = [source = std::move(source)] { return functions_of(source()); };
  return make_module<LLVMModule>(functions_of(functions), read_machine(target), std::move(units), read);
}

}  // namespace tessera::codegen
