#pragma once
// Indices from data that are outside of their tensor. Code for CPUs calls runtime.IndexError when it meets one. A kernel of a
// GPU notes it in memory that the host reads when it waits for the device anyway.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera {

/// What a kernel writes for one of its checks; all zero while no index was bad.
struct IndexErrorRecord {
  int64_t is_set = 0, index = 0, extent = 0;
};
inline constexpr int kIndexErrorWords = 3;

Error index_error(const std::string& where, int64_t index, int64_t extent);

/// Throws for the first record that is set, and clears them all.
void throw_index_errors(std::span<IndexErrorRecord> records, const std::vector<std::string>& texts);

}  // namespace tessera
