#include "runtime/cpu/detect.h"

#include <array>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <sys/auxv.h>
#endif
#if defined(__aarch64__)
#include <sys/prctl.h>
#elif defined(__riscv)
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#endif

namespace tessera {
namespace {

#if defined(__x86_64__)

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

/// Zeros for a leaf that the CPU does not have.
Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers out;
  __get_cpuid_count(leaf, subleaf, &out.a, &out.b, &out.c, &out.d);
  return out;
}

uint64_t read_word(CpuWord word) {
  switch (word) {
    case CpuWord::Leaf1C: return cpuid(1).c;
    case CpuWord::Leaf7B: return cpuid(7).b;
    case CpuWord::Leaf7C: return cpuid(7).c;
    case CpuWord::Leaf7D: return cpuid(7).d;
    case CpuWord::Leaf71A: return cpuid(7).a >= 1 ? cpuid(7, 1).a : 0;
    case CpuWord::Leaf71D: return cpuid(7).a >= 1 ? cpuid(7, 1).d : 0;
    case CpuWord::LeafD1A: return cpuid(0xd, 1).a;
    case CpuWord::Leaf14B: return cpuid(0x14).b;
    case CpuWord::Leaf19B: return cpuid(0x19).b;
    case CpuWord::Leaf24B: return cpuid(0x24).b;
    case CpuWord::Extended1C: return cpuid(0x80000001).c;
    case CpuWord::Extended8B: return cpuid(0x80000008).b;
    default: return 0;
  }
}

/// XCR0: the registers that the system saves when it switches tasks.
uint64_t saved_registers() {
  constexpr uint32_t kOsXsave = 1u << 27;
  if ((cpuid(1).c & kOsXsave) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Linux gives the tiles of AMX to a process that asks for them.
bool ask_for_tiles() {
  constexpr int kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

bool is_granted(CpuState state) {
  constexpr uint64_t kAvx = 0x6, kAvx512 = kAvx | 0xe0, kTiles = 0x60000, kApx = 0x80000;
  static const uint64_t saved = saved_registers();
  auto has = [](uint64_t mask) { return (saved & mask) == mask; };
  switch (state) {
    case CpuState::None: return true;
    case CpuState::Avx: return has(kAvx);
    case CpuState::Avx512: return has(kAvx512);
    case CpuState::Apx: return has(kApx);
    case CpuState::Amx: {
      static const bool given = has(kTiles) && ask_for_tiles();
      return given;
    }
  }
  return false;
}

#else

#if defined(__riscv)
/// "rv64imafdcv_zba_zbb_" of the first core.
std::string isa_line() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("isa", 0) == 0) return line.substr(line.find(':') + 1) + "_";
  return "";
}

bool isa_has(const char* extension) {
  static const std::string isa = isa_line();
  return isa.find("_" + std::string(extension) + "_") != isa.npos;
}

uint64_t probe_extensions() {
  struct {
    int64_t key = 4;  // RISCV_HWPROBE_KEY_IMA_EXT_0
    uint64_t value = 0;
  } pair;
  constexpr long kHwprobe = 258;
  if (syscall(kHwprobe, &pair, 1, 0, nullptr, 0) != 0 || pair.key < 0)  // Linux before 6.4
    for (const CpuFeature& feature : feature_table::kRiscv64)
      if (feature.word == CpuWord::RiscvProbe && feature.mask != feature_table::kByText && isa_has(feature.name))
        pair.value |= feature.mask;
  const bool has_vectors = getauxval(AT_HWCAP) >> ('v' - 'a') & 1;
  constexpr uint64_t kParts = feature_table::bit(37, 38, 39, 40, 41);  // zve32x to zve64d are parts of v
  return pair.value | (has_vectors ? kParts : 0);
}

uint64_t vector_lengths() {
  if ((getauxval(AT_HWCAP) >> ('v' - 'a') & 1) == 0) return 0;
  uint64_t bytes = 0;
  __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes));  // vlenb
  return (bytes * 8 << 1) - 1;
}
#endif

/// "v7l" => bits 0 to 7.
uint64_t arm_versions() {
  auto* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  int version = platform && platform[0] == 'v' ? platform[1] - '0' : 0;
  return (uint64_t{2} << (version < 0 ? 0 : version)) - 1;
}

uint64_t read_word(CpuWord word) {
  switch (word) {
    case CpuWord::Hwcap: return getauxval(AT_HWCAP);
    case CpuWord::Hwcap2: return getauxval(AT_HWCAP2);
    case CpuWord::ArmVersion: return arm_versions();
#if defined(__riscv)
    case CpuWord::RiscvProbe: return probe_extensions();
    case CpuWord::RiscvVector: return vector_lengths();
#endif
    default: return 0;
  }
}

bool is_granted(CpuState) { return true; }  // Linux tells only of what it lets a process use

#endif

using Words = std::array<uint64_t, static_cast<size_t>(CpuWord::Count)>;

Words read_words() {
  Words out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = read_word(static_cast<CpuWord>(i));
  return out;
}

}  // namespace

bool detected(const CpuFeature& feature) {
#if defined(__riscv)
  if (feature.mask == feature_table::kByText) return isa_has(feature.name);
#endif
  static const Words words = read_words();  // a hypervisor may take its time for each
  return (words[static_cast<size_t>(feature.word)] & feature.mask) == feature.mask && is_granted(feature.state);
}

int sve_bits() {
#if defined(__aarch64__)
  constexpr int kGetLength = 51, kLengthMask = 0xffff;  // PR_SVE_GET_VL of Linux, and where it answers in bytes
  const int answer = prctl(kGetLength);
  return answer < 0 ? 0 : 8 * (answer & kLengthMask);
#else
  return 0;
#endif
}

}  // namespace tessera
