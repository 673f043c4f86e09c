#pragma once
// mma.sync of fp16, bf16 and int8.

#include <cstdint>

namespace tessera::topi {

inline constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8;  // of the sums of one instruction
inline constexpr int64_t kMatrixStepBytes = 32;                 // of a row of A along k

}  // namespace tessera::topi
