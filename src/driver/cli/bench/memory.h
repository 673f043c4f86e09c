#pragma once
// How much memory this process has taken.

#include <cstdint>

namespace tessera::cli {

/// The most bytes of memory that were in use at once since the start, or since `forget_peak_memory`; 0 where the system does
/// not tell.
uint64_t peak_memory();
void forget_peak_memory();

}  // namespace tessera::cli
