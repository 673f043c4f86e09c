#include "frontend/torch/small_constants.h"

#include <cstring>

#include "relay/inspect.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::torch {
namespace {

constexpr int64_t kMaxElements = 1 << 16;

/// The one number of a constant, cast or not.
std::optional<double> number_in(const relay::Expr& expr) {
  if (auto* constant = expr.as<relay::Constant>()) {
    if (constant->data.size() != 1) return std::nullopt;
    return read_float(constant->data.dtype(), constant->data.data<char>());
  }
  auto* call = expr.as<relay::Call>();
  if (!call || call->args.size() != 1 || relay::op_name(call) != "cast") return std::nullopt;
  return number_in(call->args[0]);
}

/// Bytes of what lies inside an index of the axis, and how often the axis comes.
struct Steps {
  Steps(const NDArray& array, int axis) : inner(static_cast<int64_t>(array.dtype().bytes())) {
    for (int i = 0; i < static_cast<int>(array.shape().size()); ++i) {
      if (i < axis) outer *= array.shape()[static_cast<size_t>(i)];
      if (i > axis) inner *= array.shape()[static_cast<size_t>(i)];
    }
    extent = array.shape()[static_cast<size_t>(axis)];
  }
  int64_t outer = 1, inner, extent;
};

}  // namespace

std::optional<NDArray> small_constant(const relay::Expr& expr) {
  if (auto* constant = expr.as<relay::Constant>()) {
    if (constant->data.size() > kMaxElements) return std::nullopt;
    return constant->data;
  }
  auto* call = expr.as<relay::Call>();
  if (!call || call->args.size() != 1) return std::nullopt;
  const std::string_view name = relay::op_name(call);
  if (name != "full" && name != "broadcast_to") return std::nullopt;
  std::optional<std::vector<int64_t>> shape = relay::fixed_shape(relay::type_of(expr));
  std::optional<double> number = number_in(call->args[0]);
  auto* type = relay::type_of(expr).as<TensorTypeNode>();
  if (!shape || !number || !type || (type->dtype.is_integral() && type->dtype.bits > 32)) return std::nullopt;
  int64_t count = 1;
  for (int64_t extent : *shape)
    if (__builtin_mul_overflow(count, extent, &count) || count > kMaxElements) return std::nullopt;
  NDArray out = NDArray::empty(*shape, type->dtype);
  for (int64_t i = 0; i < count; ++i) write_float(type->dtype, *number, out.data<char>() + i * type->dtype.bytes());
  return out;
}

NDArray with_part(const NDArray& base, const NDArray& part, int axis, int64_t begin) {
  NDArray out = part_of(base, 0, 0, base.shape()[0]);
  const Steps whole(base, axis), own(part, axis);
  for (int64_t i = 0; i < whole.outer; ++i)
    std::memcpy(out.data<char>() + (i * whole.extent + begin) * whole.inner,
                part.data<char>() + i * own.extent * own.inner, static_cast<size_t>(own.extent * own.inner));
  return out;
}

NDArray part_of(const NDArray& base, int axis, int64_t begin, int64_t end) {
  std::vector<int64_t> shape(base.shape().begin(), base.shape().end());
  shape[static_cast<size_t>(axis)] = end - begin;
  NDArray out = NDArray::empty(shape, base.dtype());
  const Steps whole(base, axis);
  const int64_t length = (end - begin) * whole.inner;
  for (int64_t i = 0; i < whole.outer; ++i)
    std::memcpy(out.data<char>() + i * length, base.data<char>() + (i * whole.extent + begin) * whole.inner,
                static_cast<size_t>(length));
  return out;
}

}  // namespace tessera::torch
