#pragma once
// Which instructions code needs, and whether this CPU has them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/feature_table.h"

namespace tessera {

/// The features of an architecture ("x86_64", "aarch64", "arm", "riscv64") that are recorded in compiled code and checked when
/// it is loaded; none where there is no such check.
std::span<const CpuFeature> checked_cpu_features(std::string_view architecture);
/// True where this CPU has the feature and a process may use it; false for names that this runtime does not know.
bool cpu_has(std::string_view feature);

/// How code that is right for SVE vectors of this length alone says so among its features.
std::string sve_need(int bits);

/// Features in `needed` ("avx,avx2,fma for haswell") that this CPU does not have.
std::vector<std::string> missing_cpu_features(const std::string& needed);

/// How many features `needed` names: of two CPUs, one that has all of the other and more is the better.
size_t count_cpu_features(std::string_view needed);

/// Throws, naming the missing features, when `needed` is more than this CPU has.
void check_cpu_features(const std::string& needed, const std::string& file);

/// Symbols whose names begin so hold such texts. Each text has a symbol of its own, so that code for several CPUs can be
/// linked into one library.
inline constexpr const char* kCpuFeaturesSymbol = "__tessera_cpu_features";
/// The symbol of one text.
std::string cpu_features_symbol(std::string_view needed);

/// All texts in a library's bytes.
std::vector<std::string> cpu_needs_of(std::string_view library);

}  // namespace tessera
