#pragma once
// Which instructions this processor has, and whether they are enough for code that was compiled elsewhere.

#include <string>
#include <vector>

namespace tessera {

/// The features that are recorded in exported code and checked when it is loaded, by LLVM's names; none where the
/// architecture has no such check.
const std::vector<const char*>& checked_cpu_features();
bool cpu_has(const std::string& feature);

/// Throws, naming the missing features, when `needed` ("avx,avx2,fma") is more than this processor has.
void check_cpu_features(const std::string& needed, const std::string& file);

/// The symbol under which code keeps the text.
inline constexpr const char* kCpuFeaturesSymbol = "__tessera_cpu_features";

}  // namespace tessera
