#include "codegen/llvm/emit.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/llvm/context.h"
#include "runtime/cpu_features.h"

namespace tessera::codegen {
namespace {

std::string emit_machine_code(const llvm::Module& module, const Machine& machine, llvm::CodeGenFileType type) {
  std::unique_ptr<llvm::TargetMachine> target = make_target_machine(machine);
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);  // the back end changes what it works on
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (target->addPassesToEmitFile(passes, stream, nullptr, type))
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

std::string needed_features(const llvm::TargetMachine& target, const Machine& machine) {
  const llvm::Triple& triple = target.getTargetTriple();
  std::string architecture = triple.isARM() || triple.isThumb() ? "arm" : triple.getArchName(triple.getArch()).str();
  std::string out;
  for (const char* name : checked_cpu_features(architecture))
    if (target.getMCSubtargetInfo()->checkFeatures(std::string("+") + name))
      out += (out.empty() ? "" : ",") + std::string(name);
  if (machine.sve_bits) out += "," + sve_need(machine.sve_bits);
  return out.empty() ? out : out + " for " + machine.cpu;
}

}  // namespace tessera::codegen
