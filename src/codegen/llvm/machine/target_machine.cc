#include "codegen/llvm/machine/target_machine.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

#include "runtime/cpu/detect.h"

namespace tessera::codegen {
namespace {

void on_fatal_error(void*, const char* reason, bool) { throw Error(InternalError) << "LLVM gave up: " << reason; }

/// From so many loads and stores of a block on, the scheduler before register allocation relates only half of them to each other (LLVM
/// has 1000): the time that takes grows with the square. Kernels of our rules have shorter blocks; candidates of searches, unrolled at
/// random, do not.
constexpr unsigned kHugeBlock = 200;

void set_options() {
  llvm::StringMap<llvm::cl::Option*>& options = llvm::cl::getRegisteredOptions();
  if (auto it = options.find("dag-maps-huge-region"); it != options.end())
    static_cast<llvm::cl::opt<unsigned>*>(it->second)->setValue(kHugeBlock);
}

std::string find_host_features() {
  std::vector<std::string> on;
  for (const auto& entry : llvm::sys::getHostCPUFeatures())
    on.push_back((entry.second ? "+" : "-") + entry.first().str());
  std::sort(on.begin(), on.end(), [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
  return llvm::join(on, ",");
}

const std::string& host_features() {
  static const std::string features = find_host_features();
  return features;
}

/// What every machine of a kind that runs Linux has, beyond what LLVM takes for granted.
std::string usual_features(const llvm::Triple& triple) {
  return triple.isRISCV64() && triple.isOSLinux() ? "+m,+a,+f,+d,+c" : "";
}

/// LLVM itself only warns of names that it does not know, and goes on.
void check_features(const llvm::Target& target, const Machine& machine) {
  std::unique_ptr<llvm::MCSubtargetInfo> known(target.createMCSubtargetInfo(machine.triple, "", ""));
  std::string architecture = llvm::Triple(machine.triple).getArchName().str();
  if (!known->isCPUStringValid(machine.cpu))
    throw Error(ValueError) << "target \"" << machine.text << "\": mcpu \"" << machine.cpu << "\" is not a CPU of "
                            << architecture;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(machine.features).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    llvm::StringRef name = part.drop_front();
    bool is_known = llvm::any_of(known->getAllProcessorFeatures(), [&](const auto& row) { return name == row.Key; });
    if (!is_known)
      throw Error(ValueError) << "target \"" << machine.text << "\": mattr \"" << part.str()
                              << "\" names no feature of " << architecture;
  }
}

void read_fast_math(const Target& target, llvm::FastMathFlags& flags) {
  flags.setAllowContract(true);
  auto on = [&](const char* name) { return target.int_option(name, 0) != 0; };
  if (on("fast-math")) flags.setFast();
  if (on("fast-math-nnan")) flags.setNoNaNs();
  if (on("fast-math-ninf")) flags.setNoInfs();
  if (on("fast-math-nsz")) flags.setNoSignedZeros();
  if (on("fast-math-arcp")) flags.setAllowReciprocal();
  if (on("fast-math-reassoc")) flags.setAllowReassoc();
  if (!target.int_option("fast-math-contract", 1)) flags.setAllowContract(false);
}

constexpr unsigned kMinSveBits = 128;

bool has_sve(const Machine& machine) {
  llvm::Triple triple(machine.triple);
  std::string problem;
  const llvm::Target* target =
      triple.isAArch64() ? llvm::TargetRegistry::lookupTarget(machine.triple, problem) : nullptr;
  if (!target) return false;
  check_features(*target, machine);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(machine.triple, machine.cpu, machine.features));
  return info && info->checkFeatures("+sve");
}

/// Vectors of SVE are as long as their maker liked. A CPU that is not named here has to be asked.
constexpr std::pair<std::string_view, int> kSveBits[] = {
    {"a64fx", 512},       {"neoverse-v1", 256}, {"neoverse-512tvb", 256}, {"neoverse-n2", 128}, {"neoverse-n3", 128},
    {"neoverse-v2", 128}, {"neoverse-v3", 128}, {"neoverse-v3ae", 128},   {"grace", 128},       {"cortex-a510", 128},
    {"cortex-a520", 128}, {"cortex-a710", 128}, {"cortex-a715", 128},     {"cortex-a720", 128}, {"cortex-a725", 128},
    {"cortex-x2", 128},   {"cortex-x3", 128},   {"cortex-x4", 128},       {"cortex-x925", 128},
};

/// The length that -vector-width says, else that of the CPU, where it is known.
int find_sve_bits(const Target& target, const Machine& machine, bool is_this_cpu) {
  const bool is_there = has_sve(machine);
  if (int64_t said = target.int_option("vector-width", 0)) {
    if (!is_there)
      throw Error(ValueError) << "target \"" << machine.text << "\": vector-width is the length of vectors of SVE, and "
                              << machine.cpu << " of " << machine.triple << " has none; -mattr=+sve says that it does";
    if (said < 128 || said > 2048 || (said & (said - 1)))
      throw Error(ValueError) << "vector-width of target \"" << machine.text << "\" is " << said
                              << "; it may be 128, 256, 512, 1024 or 2048 bits";
    return static_cast<int>(said);
  }
  if (!is_there) return 0;
  if (is_this_cpu) return sve_bits();
  for (const auto& [name, bits] : kSveBits)
    if (name == machine.cpu) return bits;
  return 0;
}

}  // namespace

bool Machine::is_x86() const { return llvm::Triple(triple).isX86(); }

bool Machine::is_nvptx() const { return llvm::Triple(triple).isNVPTX(); }

bool Machine::is_gpu() const { return is_nvptx() || llvm::Triple(triple).isAMDGPU(); }

bool Machine::is_host() const {
  llvm::Triple host(llvm::sys::getProcessTriple()), own(triple);
  return host.getArch() == own.getArch() && host.getOS() == own.getOS();
}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    set_options();
    for (auto initialize :
         {LLVMInitializeX86TargetInfo,    LLVMInitializeX86Target,       LLVMInitializeX86TargetMC,
          LLVMInitializeX86AsmPrinter,    LLVMInitializeX86AsmParser,    LLVMInitializeAArch64TargetInfo,
          LLVMInitializeAArch64Target,    LLVMInitializeAArch64TargetMC, LLVMInitializeAArch64AsmPrinter,
          LLVMInitializeAArch64AsmParser, LLVMInitializeARMTargetInfo,   LLVMInitializeARMTarget,
          LLVMInitializeARMTargetMC,      LLVMInitializeARMAsmPrinter,   LLVMInitializeARMAsmParser,
          LLVMInitializeRISCVTargetInfo,  LLVMInitializeRISCVTarget,     LLVMInitializeRISCVTargetMC,
          LLVMInitializeRISCVAsmPrinter,  LLVMInitializeRISCVAsmParser,  LLVMInitializeNVPTXTargetInfo,
          LLVMInitializeNVPTXTarget,      LLVMInitializeNVPTXTargetMC,   LLVMInitializeNVPTXAsmPrinter,
          LLVMInitializeAMDGPUTargetInfo, LLVMInitializeAMDGPUTarget,    LLVMInitializeAMDGPUTargetMC,
          LLVMInitializeAMDGPUAsmPrinter, LLVMInitializeAMDGPUAsmParser})
      initialize();
  });
}

Machine read_machine(const Target& target) {
  initialize_llvm();
  Machine out;
  out.text = target.str();
  std::string host = llvm::sys::getProcessTriple();
  out.triple = llvm::Triple::normalize(target.option("mtriple").value_or(host));
  if (out.triple.empty()) out.triple = host;
  out.cpu = target.option("mcpu").value_or("");
  if (out.cpu == "native") {
    if (!out.is_host())
      throw Error(ValueError) << "target \"" << out.text
                              << "\": mcpu \"native\" is this machine's CPU, which is not of " << out.triple;
    out.cpu.clear();
  }
  const bool is_this_cpu = out.cpu.empty() && out.is_host();
  if (out.cpu.empty()) {
    out.cpu = out.is_host() ? llvm::sys::getHostCPUName().str() : "generic";
    out.features = out.is_host() ? host_features() : usual_features(llvm::Triple(out.triple));
  }
  for (const std::string& attr : target.list_option("mattr")) {
    if (attr.empty()) continue;
    if (!out.features.empty()) out.features += ",";
    out.features += attr[0] == '+' || attr[0] == '-' ? attr : "+" + attr;
  }
  out.abi = target.option("mabi").value_or("");
  out.float_abi = target.option("mfloat-abi").value_or("");
  if (out.float_abi != "" && out.float_abi != "soft" && out.float_abi != "hard")
    throw Error(ValueError) << "mfloat-abi of target \"" << out.text << "\" is \"" << out.float_abi
                            << "\"; it may be hard or soft";
  out.opt_level = static_cast<int>(target.int_option("opt-level", 2));
  if (out.opt_level < 0 || out.opt_level > 3)
    throw Error(ValueError) << "opt-level of target \"" << out.text << "\" is " << out.opt_level
                            << "; it may be 0, 1, 2 or 3";
  if (!target.list_option("cl-opt").empty())
    throw Error(NotImplementedError) << "target \"" << out.text << "\": cl-opt changes LLVM for the whole process and "
                                     << "is not offered; use mattr, opt-level or fast-math-*";
  read_fast_math(target, out.fast_math);
  out.sve_bits = find_sve_bits(target, out, is_this_cpu);
  // A load that broadcasts costs the units nothing that multiply; LLVM prefers a load and a copy for some CPUs.
  if (out.sve_bits) out.features += (out.features.empty() ? "" : ",") + std::string("-no-sve-fp-ld1r");
  return out;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine) {
  initialize_llvm();
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(machine.triple, problem);
  if (!target)
    throw Error(ValueError) << "target \"" << machine.text << "\": no back end for " << machine.triple
                            << " is built in (" << problem << "); there are x86, aarch64, arm, riscv, nvptx and amdgcn";
  check_features(*target, machine);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // each instruction says whether it may be contracted
  if (machine.float_abi == "soft") options.FloatABIType = llvm::FloatABI::Soft;
  if (machine.float_abi == "hard") options.FloatABIType = llvm::FloatABI::Hard;
  options.MCOptions.ABIName = machine.abi;
  static constexpr llvm::CodeGenOptLevel levels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                                     llvm::CodeGenOptLevel::Aggressive,
                                                     llvm::CodeGenOptLevel::Aggressive};
  std::unique_ptr<llvm::TargetMachine> out(target->createTargetMachine(machine.triple, machine.cpu, machine.features,
                                                                       options, llvm::Reloc::PIC_, std::nullopt,
                                                                       levels[machine.opt_level]));
  if (!out) throw Error(ValueError) << "target \"" << machine.text << "\": LLVM makes no code for it";
  return out;
}

llvm::TargetMachine& target_machine_of_thread(const Machine& machine) {
  thread_local std::string known;
  thread_local std::unique_ptr<llvm::TargetMachine> made;
  std::string key;
  for (const std::string* part : {&machine.triple, &machine.cpu, &machine.features, &machine.abi, &machine.float_abi})
    key += *part + "\n";
  key += std::to_string(machine.opt_level);
  if (!made || key != known) {
    made = make_target_machine(machine);
    known = key;
  }
  return *made;
}

void set_machine_attributes(llvm::Function* function, const Machine& machine) {
  function->addFnAttr("target-cpu", machine.cpu);
  if (!machine.features.empty()) function->addFnAttr("target-features", machine.features);
  if (machine.is_x86()) function->addFnAttr("prefer-vector-width", "512");
  if (unsigned times = unsigned(machine.sve_bits) / kMinSveBits)
    function->addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(function->getContext(), times, times));
  if (machine.cpu == "generic" && llvm::Triple(machine.triple).isAArch64()) {
    // LLVM orders code for any such CPU as a small one needs it that runs instructions in order: it reads far ahead,
    // and sums that were to stay in registers are pushed out of them. A middling one of those that reorder is assumed.
    function->addFnAttr("tune-cpu", machine.sve_bits ? "neoverse-v1" : "cortex-a76");
  }
}

void throw_llvm(llvm::Error error, const std::string& doing) {
  throw Error(RuntimeError) << doing << ": " << llvm::toString(std::move(error));
}

}  // namespace tessera::codegen
