#include "runtime/cpu_features.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/registry.h"

#if defined(__x86_64__)
constexpr std::string_view kThisArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kThisArchitecture = "aarch64";
#elif defined(__arm__)
constexpr std::string_view kThisArchitecture = "arm";
#elif defined(__riscv) && __riscv_xlen == 64
constexpr std::string_view kThisArchitecture = "riscv64";
#else
constexpr std::string_view kThisArchitecture = "";
#endif
#if !defined(__x86_64__)
#include <sys/auxv.h>
#endif
#if defined(__aarch64__)
#include <sys/prctl.h>
#endif

namespace tessera {
namespace {

/// A feature by LLVM's name, and the bit by which Linux tells of it: of AT_HWCAP, or from 64 on of AT_HWCAP2. (These
/// numbers are part of Linux's interface and never change. On x86 the processor itself is asked, by name.)
struct Feature {
  std::string_view architecture;
  const char* name;
  int bit = 0;
};

constexpr int kSecond = 64;

constexpr std::string_view kSveNeed = "sve=";

constexpr Feature kFeatures[] = {
#define TESSERA_X86_FEATURE(NAME) {"x86_64", NAME},
#include "runtime/x86_features.h"
#undef TESSERA_X86_FEATURE
    {"aarch64", "neon", 1},
    {"aarch64", "aes", 3},
    {"aarch64", "sha2", 6},
    {"aarch64", "crc", 7},
    {"aarch64", "lse", 8},
    {"aarch64", "fullfp16", 10},
    {"aarch64", "rdm", 12},
    {"aarch64", "jsconv", 13},
    {"aarch64", "complxnum", 14},
    {"aarch64", "rcpc", 15},
    {"aarch64", "sha3", 17},
    {"aarch64", "dotprod", 20},
    {"aarch64", "sve", 22},
    {"aarch64", "fp16fml", 23},
    {"aarch64", "sve2", kSecond + 1},
    {"aarch64", "i8mm", kSecond + 13},
    {"aarch64", "bf16", kSecond + 14},
    {"arm", "neon", 12},
    {"arm", "vfp3d16", 13},
    {"arm", "vfp4", 16},
    {"arm", "hwdiv-arm", 17},
    {"arm", "hwdiv", 18},
    {"arm", "d32", 19},
    {"arm", "fullfp16", 22},
    {"arm", "dotprod", 24},
    {"arm", "bf16", 26},
    {"arm", "i8mm", 27},
    {"riscv64", "a", 'a' - 'a'},
    {"riscv64", "c", 'c' - 'a'},
    {"riscv64", "d", 'd' - 'a'},
    {"riscv64", "f", 'f' - 'a'},
    {"riscv64", "m", 'm' - 'a'},
    {"riscv64", "v", 'v' - 'a'},
};

bool processor_has(const Feature& feature) {
#if defined(__x86_64__)
#define TESSERA_X86_FEATURE(NAME) \
  if (std::string_view(feature.name) == NAME) return __builtin_cpu_supports(NAME) != 0;
#include "runtime/x86_features.h"
#undef TESSERA_X86_FEATURE
  return false;
#else
  uint64_t words = feature.bit < kSecond ? getauxval(AT_HWCAP) : getauxval(AT_HWCAP2);
  return words >> (feature.bit % kSecond) & 1;
#endif
}

/// A target that this processor runs: its level on x86, else everything that can be checked.
std::string fitting_target() {
  auto has_all = [](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [](const char* name) { return cpu_has(name); });
  };
  if (kThisArchitecture == "x86_64") {
    if (!has_all({"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"})) return "llvm -mcpu=x86-64";
    if (!has_all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt"})) return "llvm -mcpu=x86-64-v2";
    if (!has_all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "llvm -mcpu=x86-64-v3";
    return "llvm -mcpu=x86-64-v4";
  }
  std::string attributes;
  for (const Feature& feature : kFeatures)
    if (feature.architecture == kThisArchitecture)
      attributes += (attributes.empty() ? "" : ",") + std::string(processor_has(feature) ? "+" : "-") + feature.name;
  return "llvm -mtriple=" +
         std::string(kThisArchitecture == "arm" ? "armv7-linux-gnueabihf"
                                                : std::string(kThisArchitecture) + "-linux-gnu") +
         " -mcpu=" + (kThisArchitecture == "riscv64" ? "generic-rv64" : "generic") + " -mattr=" + attributes +
         (sve_bits() ? " -vector-width=" + std::to_string(sve_bits()) : "");
}

/// " (AMD EPYC 9654 96-Core Processor)" where the system tells.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != line.npos) return " (" + line.substr(colon + 2) + ")";
  }
  return "";
}

}  // namespace

std::vector<const char*> checked_cpu_features(std::string_view architecture) {
  std::vector<const char*> out;
  for (const Feature& feature : kFeatures)
    if (feature.architecture == architecture) out.push_back(feature.name);
  return out;
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

std::string sve_need(int bits) { return std::string(kSveNeed) + std::to_string(bits); }

bool cpu_has(const std::string& name) {
  for (const Feature& feature : kFeatures)
    if (feature.architecture == kThisArchitecture && name == feature.name) return processor_has(feature);
  return true;  // what cannot be checked is not refused
}

void check_cpu_features(const std::string& needed, const std::string& file) {
  size_t end = needed.find(" for ");
  std::string missing, part, made_for = end == needed.npos ? "another processor" : needed.substr(end + 5);
  int length = 0;
  for (std::istringstream parts(needed.substr(0, end)); std::getline(parts, part, ',');) {
    if (part.rfind(kSveNeed, 0) == 0) length = std::atoi(part.c_str() + kSveNeed.size());
    else if (!part.empty() && !cpu_has(part)) missing += (missing.empty() ? "" : ", ") + part;
  }
  if (missing.empty() && length != 0 && length != sve_bits())
    throw Error(RuntimeError) << file << " was compiled for " << made_for << " with vectors of SVE of " << length
                              << " bits, and those of this processor" << processor_name() << " have " << sve_bits()
                              << ". Compile it again with the target \"" << fitting_target() << "\"";
  if (missing.empty()) return;
  throw Error(RuntimeError) << file << " was compiled for " << made_for << " and needs instructions that this processor"
                            << processor_name() << " does not have: " << missing
                            << ". Compile it again with the target \"" << fitting_target() << "\"";
}

namespace {

Globals globals{{"runtime.check_cpu_features", check_cpu_features}};

}  // namespace
}  // namespace tessera
