#include "runtime/cpu_features.h"

#include <functional>
#include <map>
#include <sstream>

#include "runtime/registry.h"

namespace tessera {
namespace {

using Test = bool (*)();

const std::map<std::string, Test>& tests() {
  static const std::map<std::string, Test> table = {
#if defined(__x86_64__)
#define TESSERA_FEATURE(LLVM_NAME, GCC_NAME) {LLVM_NAME, [] { return __builtin_cpu_supports(GCC_NAME) != 0; }}
      TESSERA_FEATURE("sse3", "sse3"),
      TESSERA_FEATURE("ssse3", "ssse3"),
      TESSERA_FEATURE("sse4.1", "sse4.1"),
      TESSERA_FEATURE("sse4.2", "sse4.2"),
      TESSERA_FEATURE("popcnt", "popcnt"),
      TESSERA_FEATURE("avx", "avx"),
      TESSERA_FEATURE("avx2", "avx2"),
      TESSERA_FEATURE("fma", "fma"),
      TESSERA_FEATURE("fma4", "fma4"),
      TESSERA_FEATURE("xop", "xop"),
      TESSERA_FEATURE("bmi", "bmi"),
      TESSERA_FEATURE("bmi2", "bmi2"),
      TESSERA_FEATURE("f16c", "f16c"),
      TESSERA_FEATURE("lzcnt", "lzcnt"),
      TESSERA_FEATURE("avx512f", "avx512f"),
      TESSERA_FEATURE("avx512cd", "avx512cd"),
      TESSERA_FEATURE("avx512dq", "avx512dq"),
      TESSERA_FEATURE("avx512bw", "avx512bw"),
      TESSERA_FEATURE("avx512vl", "avx512vl"),
      TESSERA_FEATURE("avx512ifma", "avx512ifma"),
      TESSERA_FEATURE("avx512vbmi", "avx512vbmi"),
      TESSERA_FEATURE("avx512vbmi2", "avx512vbmi2"),
      TESSERA_FEATURE("avx512vnni", "avx512vnni"),
      TESSERA_FEATURE("avx512bitalg", "avx512bitalg"),
      TESSERA_FEATURE("avx512vpopcntdq", "avx512vpopcntdq"),
      TESSERA_FEATURE("avx512bf16", "avx512bf16"),
      TESSERA_FEATURE("avx512fp16", "avx512fp16"),
      TESSERA_FEATURE("avxvnni", "avxvnni"),
      TESSERA_FEATURE("amx-tile", "amx-tile"),
      TESSERA_FEATURE("amx-int8", "amx-int8"),
      TESSERA_FEATURE("amx-bf16", "amx-bf16"),
#undef TESSERA_FEATURE
#endif
  };
  return table;
}

}  // namespace

const std::vector<const char*>& checked_cpu_features() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> out;
    for (const auto& [name, _] : tests()) out.push_back(name.c_str());
    return out;
  }();
  return names;
}

bool cpu_has(const std::string& feature) {
  auto it = tests().find(feature);
  return it == tests().end() || it->second();  // what is not checked is not refused
}

void check_cpu_features(const std::string& needed, const std::string& file) {
  std::string missing, part;
  for (std::istringstream parts(needed); std::getline(parts, part, ',');)
    if (!part.empty() && !cpu_has(part)) missing += (missing.empty() ? "" : ", ") + part;
  if (missing.empty()) return;
  throw Error(RuntimeError) << file << " needs instructions that this processor does not have: " << missing
                            << ". It was compiled for another processor; compile it again with a target such as "
                               "\"llvm -mcpu=x86-64-v3\" that names the least processor it has to run on";
}

namespace {

Globals globals{{"runtime.check_cpu_features", check_cpu_features}};

}  // namespace
}  // namespace tessera
