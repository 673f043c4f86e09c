#include "codegen/llvm/machine/needed_features.h"

#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "runtime/cpu/features.h"
#include "runtime/registry.h"

namespace tessera::codegen {
namespace {

/// As the tables of features name it.
std::string architecture_of(const llvm::Triple& triple) {
  return triple.isARM() || triple.isThumb() ? "arm" : triple.getArchName(triple.getArch()).str();
}

/// Intrinsics of vectors, whose features count anyhow.
bool is_arithmetic(llvm::StringRef intrinsic) {
  return llvm::any_of(
      std::initializer_list<llvm::StringRef>{
          "llvm.x86.sse",     "llvm.x86.ssse",       "llvm.x86.avx",      "llvm.x86.fma",         "llvm.x86.f16c",
          "llvm.x86.bmi",     "llvm.x86.xop",        "llvm.x86.tbm",      "llvm.x86.aesni",       "llvm.x86.pclmul",
          "llvm.x86.vgf2p8",  "llvm.x86.sha",        "llvm.x86.vsha",     "llvm.x86.td",          "llvm.x86.tile",
          "llvm.x86.tcmm",    "llvm.x86.vcvt",       "llvm.x86.addcarry", "llvm.aarch64.neon",    "llvm.aarch64.sve",
          "llvm.aarch64.sme", "llvm.aarch64.crypto", "llvm.aarch64.crc",  "llvm.aarch64.fjcvtzs", "llvm.arm.neon",
          "llvm.arm.crc",     "llvm.riscv.v"},
      [&](llvm::StringRef prefix) { return intrinsic.starts_with(prefix); });
}

/// True where code may hold instructions that LLVM does not choose by itself: intrinsics of one architecture, and assembly.
bool names_instructions(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.isIntrinsic() && function.isTargetIntrinsic() && !is_arithmetic(function.getName())) return true;
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm()) return true;
  }
  return !module.getModuleInlineAsm().empty();
}

}  // namespace

std::string needed_features(const llvm::Module& module, const llvm::TargetMachine& target, const Machine& machine) {
  llvm::FeatureBitset allowed = target.getMCSubtargetInfo()->getFeatureBits();
  for (const llvm::Function& function : module)  // what a user's LLVM code allows itself
    if (!function.isDeclaration()) allowed |= target.getSubtargetImpl(function)->getFeatureBits();
  const bool with_named = names_instructions(module);
  std::string out;
  auto known = target.getMCSubtargetInfo()->getAllProcessorFeatures();
  for (const CpuFeature& feature : checked_cpu_features(architecture_of(target.getTargetTriple()))) {
    auto row = llvm::find_if(known, [&](const auto& each) { return llvm::StringRef(each.Key) == feature.name; });
    ICHECK(row != known.end()) << "LLVM knows the feature " << feature.name;
    if (allowed.test(row->Value) && (with_named || !feature.by_name))
      out += (out.empty() ? "" : ",") + std::string(feature.name);
  }
  if (machine.sve_bits) out += "," + sve_need(machine.sve_bits);
  return out.empty() ? out : out + " for " + machine.cpu;
}

namespace {

/// All features of an architecture that LLVM knows, with what they are.
Map<String, String> known_features(const std::string& triple) {
  Machine machine = read_machine(Target::parse("llvm -mtriple=" + triple));
  std::unique_ptr<llvm::TargetMachine> target = make_target_machine(machine);
  Map<String, String> out;
  for (const llvm::SubtargetFeatureKV& row : target->getMCSubtargetInfo()->getAllProcessorFeatures())
    out.set(String(row.Key), String(row.Desc));
  return out;
}

Globals needed_features_globals{{"codegen.llvm_features", known_features}};

}  // namespace
}  // namespace tessera::codegen
