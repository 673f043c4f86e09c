#include "topi/cpu/machine.h"

#include <fstream>

#include "codegen/target_cpu.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/registry.h"
#include "topi/cpu/contraction/caches.h"

namespace tessera::topi {
namespace {

register_types<MachineNode> types;

// Dot products of signed elements need more registers beside their sums.
constexpr Isa kIsas[] = {
    {"avx512", 64, 32},        {"avx2", 32, 16},          {"sse", 16, 16},         {"neon", 16, 32},
    {"sve256", 32, 32},        {"sve512", 64, 32},        {"sve1024", 128, 32},    {"sve2048", 256, 32},
    {"generic", 16, 16},       {"neon-sdot", 16, 26},     {"sve256-sdot", 32, 26}, {"sve512-sdot", 64, 26},
    {"sve1024-sdot", 128, 26}, {"sve2048-sdot", 256, 26},
};

constexpr Caches kUnknown{32 * kKilo, 256 * kKilo, 0};

std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// "32K", "1M" as Linux writes them.
int64_t bytes_of(const std::string& text) {
  int64_t number = std::strtoll(text.c_str(), nullptr, 10);
  return text.empty() ? 0 : text.back() == 'K' ? number * kKilo : text.back() == 'M' ? number * kMega : number;
}

/// What Linux says about the first CPU this process may use; zeros where it says nothing.
Caches caches_of_host() {
  Caches out{0, 0, 0};
  std::vector<int> cpus = allowed_cpus();
  std::string caches = "/sys/devices/system/cpu/cpu" + std::to_string(cpus.empty() ? 0 : cpus[0]) + "/cache/";
  for (int i = 0; i < 8; ++i) {
    std::string cache = caches + "index" + std::to_string(i) + "/", level = line_of(cache + "level");
    if (level.empty()) break;
    if (line_of(cache + "type") == "Instruction") continue;
    (level == "1" ? out.l1 : level == "2" ? out.l2 : out.l3) = bytes_of(line_of(cache + "size"));
  }
  return out;
}

const char* isa_of(const codegen::TargetCpu& cpu) {
  auto has = [&](const char* feature) { return cpu.features.count(feature) > 0; };
  if (cpu.arch == "x86_64" || cpu.arch == "i386")
    return has("avx512f") ? "avx512" : has("avx2") && has("fma") ? "avx2" : "sse";
  if (cpu.arch != "aarch64") return "generic";
  for (const Isa& isa : kIsas)  // vectors of SVE that are no longer than NEON's are NEON's
    if (cpu.sve_bits > 128 && isa.name == "sve" + std::to_string(cpu.sve_bits)) return isa.name;
  return has("neon") ? "neon" : "generic";
}

}  // namespace

const Isa& find_isa(std::string_view name) {
  std::string known;
  for (const Isa& isa : kIsas) {
    if (isa.name == name) return isa;
    known += (known.empty() ? "" : ", ") + std::string(isa.name);
  }
  throw Error(ValueError) << "no instruction set \"" << name << "\"; there are " << known;
}

bool interleaves_vectors(const Machine& machine) { return machine->arch == "aarch64"; }

Machine machine_of(const Target& target) {
  if (target->kind->name != "llvm")
    throw Error(ValueError) << "target \"" << target.str() << "\" is not a CPU that code is generated for: its kind is "
                            << target->kind->name << ", not llvm";
  codegen::TargetCpu cpu = codegen::target_cpu(target);
  const Isa& isa = find_isa(isa_of(cpu));
  Caches caches = cpu.is_host ? caches_of_host() : Caches{0, 0, 0};
  Caches assumed = known_caches(cpu.name).value_or(kUnknown);
  MachineNode out;
  out.isa = isa.name;
  out.arch = cpu.arch;
  out.cpu = cpu.name;
  out.vector_bytes = isa.vector_bytes;
  out.vector_registers = isa.registers;
  out.l1_bytes = caches.l1 ? caches.l1 : assumed.l1;
  out.l2_bytes = caches.l2 ? caches.l2 : assumed.l2;
  out.l3_bytes = caches.l1 ? caches.l3 : assumed.l3;
  out.cores = static_cast<int32_t>(target.int_option("num-cores", cpu.runs_here ? default_thread_count() : 1));
  for (const std::string& feature : cpu.features) out.features.push_back(feature);
  return make(std::move(out));
}

namespace {

Globals globals{{"topi.cpu.machine_of", machine_of}};

}  // namespace
}  // namespace tessera::topi
