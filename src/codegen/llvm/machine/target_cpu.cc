#include "codegen/target_cpu.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/machine/needed_features.h"

namespace tessera::codegen {

TargetCpu target_cpu(const Target& target) {
  Machine machine = read_machine(target);
  std::unique_ptr<llvm::TargetMachine> made = make_target_machine(machine);
  const llvm::MCSubtargetInfo& info = *made->getMCSubtargetInfo();
  TargetCpu out{.arch = llvm::Triple::getArchTypeName(llvm::Triple(machine.triple).getArch()).str(),
                .name = machine.cpu,
                .is_host = machine.is_host() && machine.cpu == read_machine(Target::parse("llvm")).cpu,
                .runs_here = machine.is_host(),
                .sve_bits = machine.sve_bits,
                .features = {}};
  for (const llvm::SubtargetFeatureKV& feature : info.getAllProcessorFeatures())
    if (info.getFeatureBits().test(feature.Value)) out.features.insert(feature.Key);
  return out;
}

std::string cpu_needs(const Target& target) {
  Machine machine = read_machine(target);
  llvm::LLVMContext context;
  return needed_features(llvm::Module("", context), *make_target_machine(machine), machine);
}

int64_t llvm_intrinsic_id(const std::string& name) {
  llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
  if (id == llvm::Intrinsic::not_intrinsic) throw Error(ValueError) << "LLVM has no intrinsic " << name;
  return static_cast<int64_t>(id);
}

}  // namespace tessera::codegen
