#pragma once
// What is known of the caches of CPUs by their names.

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::topi {

inline constexpr int64_t kKilo = 1024, kMega = kKilo * kKilo;

/// Bytes of the data caches of one core. An L2 that cores share is divided among them; `l3` is what they share, of a common
/// size; 0 where there is none.
struct Caches {
  int64_t l1, l2, l3;
};

/// By LLVM's name of the CPU. docs/cross_compilation.md shows the table.
std::optional<Caches> known_caches(std::string_view cpu);

}  // namespace tessera::topi
