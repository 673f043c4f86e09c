#include "frontend/common/packed_weights.h"

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "relay/attrs/matmul_nbits.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"
#include "topi/nn/matmul_nbits.h"

namespace tessera::frontend {
namespace {

using namespace relay;  // NOLINT: makers of calls
using topi::NBitsMatmul;

int64_t filled_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

Expr byte(int64_t value) { return make_constant(int_scalar(value, kUInt8)); }

/// (n, blocks) -> (panels, blocks, 16)
Expr in_panels(const Expr& x, int64_t n, int64_t blocks) {
  const int64_t columns = filled_up(n, NBitsMatmul::kPanel);
  Expr all = columns == n ? x : pad_with(x, {0, 0}, {columns - n, 0}, 0);
  return transpose(reshape_to(all, {columns / NBitsMatmul::kPanel, NBitsMatmul::kPanel, blocks}), int_array({0, 2, 1}));
}

/// (n, k) -> (panels, steps, 64), as nn.matmul_nbits has it
Expr packed(const BlockedWeight& weight, int64_t k) {
  const int64_t columns = filled_up(weight.n, NBitsMatmul::kPanel), parts = 8 / weight.bits,
                per_step = parts * NBitsMatmul::kLaneBytes;
  Expr all = weight.integers;
  if (columns != weight.n || k != weight.k) all = pad_with(all, {0, 0}, {columns - weight.n, k - weight.k}, 0);
  all = reshape_to(all,
                   {columns / NBitsMatmul::kPanel, NBitsMatmul::kPanel, k / per_step, parts, NBitsMatmul::kLaneBytes});
  all = transpose(all, int_array({3, 0, 2, 1, 4}));
  const std::vector<int64_t> shape{columns / NBitsMatmul::kPanel, k / per_step,
                                   NBitsMatmul::kPanel * NBitsMatmul::kLaneBytes};
  Expr out;
  for (int64_t part = 0; part < parts; ++part) {
    Expr one = reshape_to(slice(all, 0, part, part + 1), shape);
    if (part) one = call_op("left_shift", {one, byte(part * weight.bits)});
    out = out.defined() ? call_op("bitwise_or", {out, one}) : one;
  }
  return out;
}

}  // namespace

bool can_stay_packed(int64_t bits, int64_t block) {
  constexpr int64_t kMaxBlock = 1 << 20;
  return (bits == 2 || bits == 4 || bits == 8) && block >= NBitsMatmul::kMinBlock && block <= kMaxBlock &&
         block % NBitsMatmul::kMinBlock == 0;
}

Expr unpacked_bits(const Expr& bytes, int64_t bits, const std::vector<int64_t>& shape) {
  if (bits == 8) return reshape_to(bytes, shape);
  Array<Expr> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Expr moved = shift ? call_op("right_shift", {bytes, byte(shift)}) : bytes;
    parts.push_back(call_op("bitwise_and", {moved, byte((1 << bits) - 1)}));
  }
  return reshape_to(stack(parts, -1), shape);
}

Expr matmul_by_packed(const NodeContext& in, const Expr& data, const BlockedWeight& weight, bool int8_data) {
  const int64_t k = filled_up(weight.k, weight.block), blocks = k / weight.block;
  Expr rows = data;
  if (k != weight.k) {
    std::vector<int64_t> before(in.rank(data)), after(in.rank(data));
    after.back() = k - weight.k;
    rows = pad_with(rows, before, after, 0);
  }
  const Expr zero = weight.zero.defined() ? in_panels(weight.zero, weight.n, blocks)
                                          : reshape_to(byte(static_cast<int64_t>(weight.middle())), {1, 1, 1});
  return call_op("nn.matmul_nbits", {rows, packed(weight, k), in_panels(weight.scale, weight.n, blocks), zero},
                 make_attrs<MatmulNBitsAttrs>([&](auto& attrs) {
                   attrs.units = static_cast<int32_t>(weight.n);
                   attrs.bits = static_cast<int32_t>(weight.bits);
                   attrs.block_size = static_cast<int32_t>(weight.block);
                   attrs.int8_data = int8_data;
                 }));
}

}  // namespace tessera::frontend
