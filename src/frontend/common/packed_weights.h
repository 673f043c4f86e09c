#pragma once
// Matmuls with weights of a few bits, which stay packed.

#include "frontend/common/node_context.h"

namespace tessera::frontend {

/// weight[n, k] = (integers[n, k] - zero[n, k / block]) * scale[n, k / block]
struct BlockedWeight {
  Expr integers;  // (n, k), uint8
  Expr scale;     // (n, ceildiv(k, block)), floats
  Expr zero;      // as scale, uint8 or floats; empty: `middle`
  int64_t n = 0, k = 0, block = 0, bits = 0;

  double middle() const { return static_cast<double>(int64_t{1} << (bits - 1)); }
};

/// True where nn.matmul_nbits takes weights in such blocks.
bool can_stay_packed(int64_t bits, int64_t block);

/// data (..., k) by that weight. With `int8_data` the data may be quantized to int8.
Expr matmul_by_packed(const NodeContext& in, const Expr& data, const BlockedWeight& weight, bool int8_data);

/// Integers of a few bits from bytes that hold them from their low bits on: (..., bytes) -> `shape`.
Expr unpacked_bits(const Expr& bytes, int64_t bits, const std::vector<int64_t>& shape);

/// The weight of a matmul's right side (k, n), where it is computed from constant integers as DequantizeLinear by blocks along k does it,
/// perhaps transposed or cast: a cast, a subtraction of repeated zero points, a multiplication by repeated scales. Nothing where it is
/// something else, or cannot stay packed.
std::optional<BlockedWeight> as_blocked_weight(const Expr& weight);

}  // namespace tessera::frontend
