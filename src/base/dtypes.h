#pragma once
// Element types that many files name.

#include "base/dtype.h"

namespace tessera {

inline constexpr DataType kInt8 = DataType::Int(8), kInt16 = DataType::Int(16), kInt32 = DataType::Int(32),
                          kInt64 = DataType::Int(64);
inline constexpr DataType kUInt8 = DataType::UInt(8);
inline constexpr DataType kFloat32 = DataType::Float(32), kFloat64 = DataType::Float(64);

}  // namespace tessera
