#pragma once
// Which instructions this processor has, and whether they are enough for code that was compiled elsewhere.

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The features of an architecture ("x86_64", "aarch64", "arm", "riscv64") that are recorded in exported code and checked
/// when it is loaded, by LLVM's names; none where there is no such check.
std::vector<const char*> checked_cpu_features(std::string_view architecture);
/// True where this processor has the feature, or where nobody can tell.
bool cpu_has(const std::string& feature);

/// The length of this processor's vectors of SVE in bits, as the system lets this process use them; 0 where it has none.
int sve_bits();
/// How code that is right for vectors of this length alone says so among its features.
std::string sve_need(int bits);

/// Throws, naming the missing features, when `needed` ("avx,avx2,fma for haswell") is more than this processor has.
void check_cpu_features(const std::string& needed, const std::string& file);

/// The symbol under which code keeps the text.
inline constexpr const char* kCpuFeaturesSymbol = "__tessera_cpu_features";

}  // namespace tessera
