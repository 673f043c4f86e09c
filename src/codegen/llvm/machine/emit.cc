#include "codegen/llvm/machine/emit.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/llvm/context.h"

namespace tessera::codegen {
namespace {

/// Passes that write a file, as addPassesToEmitFile has them, but for the second scheduling, after registers are allocated: CPUs of x86
/// reorder by themselves, and on long straight code it takes more time than all other passes.
bool add_passes(llvm::LLVMTargetMachine& target, llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& stream,
                llvm::CodeGenFileType type) {
  if (!target.getTargetTriple().isX86()) return target.addPassesToEmitFile(passes, stream, nullptr, type);
  auto* infos = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::PostRASchedulerID);
  passes.add(config);
  passes.add(infos);
  if (config->addISelPasses()) return true;
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, stream, nullptr, type, infos->getMMI().getContext())) return true;
  passes.add(llvm::createFreeMachineFunctionPass());
  return false;
}

std::string emit_machine_code(const llvm::Module& module, const Machine& machine, llvm::CodeGenFileType type) {
  llvm::TargetMachine& target = target_machine_of_thread(machine);
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);  // the back end changes what it works on
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (add_passes(static_cast<llvm::LLVMTargetMachine&>(target), passes, stream, type))
    throw Error(ValueError) << "target \"" << machine.text << "\" cannot write this kind of file";
  passes.run(*copy);
  throw_reported(copy->getContext());
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

std::string emit_object(const llvm::Module& module, const Machine& machine) {
  return emit_machine_code(module, machine, llvm::CodeGenFileType::ObjectFile);
}

std::string emit_assembly(const llvm::Module& module, const Machine& machine) {
  return emit_machine_code(module, machine, llvm::CodeGenFileType::AssemblyFile);
}

std::string emit_text(const llvm::Module& module) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  module.print(stream, nullptr);
  return out;
}

std::string emit_bitcode(const llvm::Module& module) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::WriteBitcodeToFile(module, stream);
  return out;
}

}  // namespace tessera::codegen
