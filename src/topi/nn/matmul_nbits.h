#pragma once
// Matmuls with weights of 2, 4 or 8 bits, which stay packed in memory.

#include "te/tensor.h"

namespace tessera::topi {

/// out[..., n] = sum over k of data[..., k] * (weight[n, k] - zero[n, k / block]) * scale[n, k / block]
///
/// Columns lie in panels of 16: weight (panels, steps, 64), where each lane of 4 bytes holds 32 / bits neighbours along k of its
/// column. Byte b of a lane has those at b, 4 + b, 8 + b, ... from its low bits on, so that the low bits of all bytes, or the next ones,
/// are four neighbours, as dot products of int8 take them. scale and zero are (panels, blocks, 16), or zero is (1, 1, 1).
struct NBitsMatmul {
  te::Tensor data, weight, scale, zero;
  int64_t units = 0, bits = 4, block = 32;
  bool int8_data = false;

  static constexpr int64_t kPanel = 16;     // columns
  static constexpr int64_t kLaneBytes = 4;  // of a column in a step
  static constexpr int64_t kMinBlock = 16;  // blocks are multiples of that
  /// Neighbours along k in a lane.
  int64_t per_step() const { return 8 * kLaneBytes / bits; }
  int64_t parts() const { return 8 / bits; }  // of a byte
  int64_t mask() const { return (int64_t{1} << bits) - 1; }
  /// The index along k, in its step, of the number that begins at bit `position` * bits of a lane.
  int64_t k_of(int64_t position) const { return position % parts() * kLaneBytes + position / parts(); }
};

/// The formula, element by element.
te::Tensor matmul_nbits(const NBitsMatmul& matmul);

}  // namespace tessera::topi
