#include "frontend/common/packed_weights.h"

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "relay/attrs/matmul_nbits.h"
#include "relay/attrs/transform.h"
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

namespace {

Expr without_cast(const Expr& x) {
  auto* call = as_call(x, "cast");
  return call ? call->args[0] : x;
}

/// What is repeated along an axis of two, and how often.
struct Repeated {
  Expr values;
  int64_t count = 0, axis = 0;
};
std::optional<Repeated> as_repeated(const Expr& given) {
  auto* call = as_call(without_cast(given), "repeat");
  auto* attrs = call ? call->attrs_as<RepeatAttrs>() : nullptr;
  const int64_t *count = attrs && attrs->repeats ? as_int(attrs->repeats) : nullptr,
                *axis = attrs && attrs->axis ? as_int(attrs->axis) : nullptr;
  if (!count || !axis || *axis < 0 || *axis > 1 || !call->args[0].as<Constant>()) return std::nullopt;
  return Repeated{call->args[0], *count, *axis};
}

/// Integers of int8 or uint8 as uint8 from 0 on, and how many bits hold them all.
struct Unsigned {
  NDArray integers;
  int64_t bits = 8;
};
Unsigned as_unsigned(const NDArray& given, bool is_signed) {
  const auto* bytes = given.data<uint8_t>();
  const int64_t count = given.size();
  bool is_small = true;
  for (int64_t i = 0; i < count && is_small; ++i) {
    const int value = is_signed ? static_cast<int8_t>(bytes[i]) + 8 : bytes[i];
    is_small = value >= 0 && value < 16;
  }
  Unsigned out{NDArray::empty(given.shape(), kUInt8), is_small ? 4 : 8};
  const int offset = is_signed ? 1 << (out.bits - 1) : 0;
  auto* to = out.integers.data<uint8_t>();
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(bytes[i] + offset);
  return out;
}

}  // namespace

std::optional<BlockedWeight> as_blocked_weight(const Expr& weight) {
  Expr at = without_cast(weight);
  bool is_transposed = false;
  if (auto* call = as_call(at, "transpose")) {
    const Array<PrimExpr>& axes = call->attrs_as<TransposeAttrs>()->axes;
    if (axes.defined() && (axes.size() != 2 || !as_int(axes[0]) || *as_int(axes[0]) == 0)) return std::nullopt;
    is_transposed = true, at = without_cast(call->args[0]);
  }
  auto* scaled = as_call(at, "multiply");
  const std::optional<Repeated> scale = scaled ? as_repeated(scaled->args[1]) : std::nullopt;
  if (!scale || scale->axis != (is_transposed ? 1 : 0)) return std::nullopt;
  std::optional<Repeated> zero;
  at = scaled->args[0];
  if (auto* moved = as_call(at, "subtract")) {
    zero = as_repeated(moved->args[1]);
    if (!zero || zero->count != scale->count || zero->axis != scale->axis) return std::nullopt;
    at = moved->args[0];
  }
  auto* constant = without_cast(at).as<Constant>();
  if (!constant || constant->data.shape().size() != 2) return std::nullopt;
  const bool is_signed = constant->data.dtype() == kInt8;
  if (!is_signed && constant->data.dtype() != kUInt8) return std::nullopt;
  if (zero && zero->values.as<Constant>()->data.dtype() != constant->data.dtype()) return std::nullopt;
  auto turned = [&](const Expr& x) { return is_transposed ? x : transpose(x, int_array({1, 0})); };  // (n, ...)
  const int64_t k = constant->data.shape()[is_transposed ? 1 : 0], n = constant->data.shape()[is_transposed ? 0 : 1];
  const Unsigned made = as_unsigned(constant->data, is_signed);
  BlockedWeight out{.n = n, .k = k, .block = scale->count, .bits = made.bits};
  if (!can_stay_packed(out.bits, out.block) || k % out.block || n < 1 || k < 1) return std::nullopt;
  out.integers = turned(make_constant(made.integers));
  out.scale = turned(scale->values);
  const int64_t middle = is_signed ? int64_t{1} << (out.bits - 1) : 0;
  if (zero) {
    Expr wide = add(cast(turned(zero->values), kInt32), make_constant(int_scalar(middle, kInt32)));
    out.zero = cast(wide, kFloat32);  // a zero point may lie outside of what the bits hold
  } else if (!is_signed) {
    out.zero = filled(0, {n, k / out.block}, kUInt8);
  }
  return out;
}

}  // namespace tessera::frontend
