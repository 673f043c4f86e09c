#include "codegen/target_cpu.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include <map>
#include <mutex>

#include "codegen/llvm/machine/needed_features.h"

namespace tessera::codegen {
namespace {

TargetCpu find_cpu(const Target& target) {
  Machine machine = read_machine(target);
  const llvm::MCSubtargetInfo& info = *target_machine_of_thread(machine).getMCSubtargetInfo();
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

}  // namespace

TargetCpu target_cpu(const Target& target) {
  constexpr size_t kMaxKnown = 64;
  static std::mutex mutex;
  static auto* known = new std::map<std::string, TargetCpu>;  // schedule rules ask for each kernel
  const std::string text = target.str();
  std::lock_guard lock(mutex);
  if (auto it = known->find(text); it != known->end()) return it->second;
  if (known->size() == kMaxKnown) known->clear();
  return known->emplace(text, find_cpu(target)).first->second;
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
