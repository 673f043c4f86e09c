#include "runtime/cpu/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/archive/files.h"
#include "runtime/cpu/detect.h"
#include "runtime/module/elf_symbols.h"
#include "runtime/package/file_seal.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

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

constexpr std::string_view kSveNeed = "sve=";

/// A target that this CPU runs: its level on x86, else everything that can be checked.
std::string fitting_target() {
  auto has_all = [](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [](const char* name) { return cpu_has(name); });
  };
  if (kThisArchitecture == "x86_64") {
    if (!has_all({"cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"})) return "llvm -mcpu=x86-64";
    if (!has_all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "llvm -mcpu=x86-64-v2";
    if (!has_all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "llvm -mcpu=x86-64-v3";
    return "llvm -mcpu=x86-64-v4";
  }
  std::string attributes;
  for (const CpuFeature& feature : checked_cpu_features(kThisArchitecture)) {
    const bool is_there = detected(feature);
    if (feature.by_name || (!is_there && feature.word != CpuWord::Hwcap)) continue;  // nothing takes these for granted
    attributes += (attributes.empty() ? "" : ",") + std::string(is_there ? "+" : "-") + feature.name;
  }
  return "llvm -mtriple=" +
         std::string(kThisArchitecture == "arm" ? "armv7-linux-gnueabihf"
                                                : std::string(kThisArchitecture) + "-linux-gnu") +
         " -mcpu=" + (kThisArchitecture == "riscv64" ? "generic-rv64" : "generic") + " -mattr=" + attributes +
         (sve_bits() ? " -vector-width=" + std::to_string(sve_bits()) : "");
}

/// " (AMD EPYC 9654 96-Core Processor)" where the system tells.
std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != line.npos) return " (" + line.substr(colon + 2) + ")";
  }
  return "";
}

/// "avx,avx2,sve=256 for haswell", taken apart.
struct Needs {
  std::vector<std::string> features;
  int sve_length = 0;
  std::string made_for = "another CPU";

  explicit Needs(const std::string& text) {
    size_t end = text.find(" for ");
    if (end != text.npos) made_for = text.substr(end + 5);
    std::string part;
    for (std::istringstream parts(text.substr(0, end)); std::getline(parts, part, ',');) {
      if (part.rfind(kSveNeed, 0) == 0) sve_length = std::atoi(part.c_str() + kSveNeed.size());
      else if (!part.empty()) features.push_back(part);
    }
  }
  std::vector<std::string> missing() const {
    std::vector<std::string> out;
    std::copy_if(features.begin(), features.end(), std::back_inserter(out), [](auto& name) { return !cpu_has(name); });
    return out;
  }
  bool has_other_vectors() const { return sve_length != 0 && sve_length != sve_bits(); }
};

}  // namespace

std::span<const CpuFeature> checked_cpu_features(std::string_view architecture) {
  if (architecture == "x86_64") return feature_table::kX86;
  if (architecture == "aarch64") return feature_table::kAArch64;
  if (architecture == "arm") return feature_table::kArm;
  if (architecture == "riscv64") return feature_table::kRiscv64;
  return {};
}

bool cpu_has(std::string_view name) {
  for (const CpuFeature& feature : checked_cpu_features(kThisArchitecture))
    if (name == feature.name) return detected(feature);
  return false;
}

std::string sve_need(int bits) { return std::string(kSveNeed) + std::to_string(bits); }

std::vector<std::string> missing_cpu_features(const std::string& needed) {
  Needs needs(needed);
  std::vector<std::string> out = needs.missing();
  if (out.empty() && needs.has_other_vectors()) out.push_back(sve_need(needs.sve_length));
  return out;
}

size_t count_cpu_features(std::string_view needed) {
  return needed.empty() ? 0 : 1 + static_cast<size_t>(std::count(needed.begin(), needed.end(), ','));
}

void check_cpu_features(const std::string& needed, const std::string& file) {
  Needs needs(needed);
  std::vector<std::string> missing = needs.missing();
  if (!missing.empty())
    throw Error(RuntimeError) << file << " was compiled for " << needs.made_for
                              << " and needs instructions that this CPU" << cpu_model_name()
                              << " does not have: " << fmt::format("{}", fmt::join(missing, ", "))
                              << ". Compile it again with the target \"" << fitting_target() << "\"";
  if (needs.has_other_vectors())
    throw Error(RuntimeError) << file << " was compiled for " << needs.made_for << " with vectors of SVE of "
                              << needs.sve_length << " bits, and those of this CPU" << cpu_model_name() << " have "
                              << sve_bits() << ". Compile it again with the target \"" << fitting_target() << "\"";
}

std::string cpu_features_symbol(std::string_view needed) {
  return fmt::format("{}_{:016x}", kCpuFeaturesSymbol, content_hash(needed));
}

std::vector<std::string> cpu_needs_of(std::string_view library) {
  std::vector<std::string> out;
  for (std::string_view text : elf_data_with_prefix(library, kCpuFeaturesSymbol))
    out.emplace_back(text.substr(0, text.find('\0')));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

namespace {

Globals features_globals{
    {"runtime.check_cpu_features", check_cpu_features},
    {"runtime.checked_cpu_features",
     [](std::string architecture) {
       Array<String> out;
       for (const CpuFeature& feature : checked_cpu_features(architecture)) out.push_back(String(feature.name));
       return out;
     }},
    {"runtime.cpu_has", [](std::string feature) { return cpu_has(feature); }},
    {"runtime.cpu_needs",
     [](std::string path) {
       Array<String> out;
       for (const std::string& text : cpu_needs_of(MappedFile(path, "the library").bytes()))
         out.push_back(String(text));
       return out;
     }},
};

}  // namespace
}  // namespace tessera
