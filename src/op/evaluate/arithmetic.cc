// Arithmetic on elements, broadcast to a common shape as NumPy does.

#include <cmath>

#include "op/evaluate/evaluate.h"
#include "op/evaluate/loops.h"
#include "relay/inspect.h"

namespace tessera::op {
namespace {

/// Integers wrap around, as in kernels.
template <class T, class F>
T wrapped(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

/// How far a step of each dimension of the result goes in an argument.
std::vector<int64_t> strides_in(const NDArray& arg, size_t rank) {
  std::vector<int64_t> own = row_major(arg.shape()), out(rank, 0);
  for (size_t i = 0; i < own.size(); ++i)
    if (arg.shape()[i] != 1) out[rank - own.size() + i] = own[i];
  return out;
}

template <class T, class F>
NDArray binary(const relay::Call* call, const std::vector<NDArray>& args, F f) {
  NDArray out = result_of(call);
  std::span<const int64_t> shape = out.shape();
  size_t rank = shape.size();
  std::vector<int64_t> left = strides_in(args[0], rank), right = strides_in(args[1], rank);
  const int64_t inner = rank ? shape[rank - 1] : 1, rows = inner ? out.size() / inner : 0;
  const int64_t left_step = rank ? left[rank - 1] : 0, right_step = rank ? right[rank - 1] : 0;
  const T *a = args[0].data<T>(), *b = args[1].data<T>();
  T* to = out.data<T>();
  in_chunks(rows, inner, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const T *x = a, *y = b;
      int64_t rest = row;
      for (size_t i = rank; i-- > 1;) {
        x += rest % shape[i - 1] * left[i - 1];
        y += rest % shape[i - 1] * right[i - 1];
        rest /= shape[i - 1];
      }
      T* z = to + row * inner;
      for (int64_t i = 0; i < inner; ++i) z[i] = f(x[i * left_step], y[i * right_step]);
    }
  });
  return out;
}

template <class T, class R, class F>
NDArray unary(const relay::Call* call, const NDArray& arg, F f) {
  NDArray out = result_of(call);
  const T* from = arg.data<T>();
  R* to = out.data<R>();
  in_chunks(out.size(), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) to[i] = f(from[i]);
  });
  return out;
}

template <class T>
NDArray on_two(const relay::Call* call, const std::vector<NDArray>& args) {
  std::string_view name = relay::op_name(call);
  if (name == "add")
    return binary<T>(call, args, [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x + y; }); });
  if (name == "subtract")
    return binary<T>(call, args, [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x - y; }); });
  if (name == "multiply")
    return binary<T>(call, args, [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x * y; }); });
  if constexpr (std::is_floating_point_v<T>) {
    if (name == "divide") return binary<T>(call, args, [](T a, T b) { return a / b; });
  } else {  // of floats, what becomes of NaN is the kernels' affair
    if (name == "maximum") return binary<T>(call, args, [](T a, T b) { return a > b ? a : b; });
    if (name == "minimum") return binary<T>(call, args, [](T a, T b) { return a < b ? a : b; });
  }
  return nullptr;
}

template <class T>
NDArray on_one(const relay::Call* call, const NDArray& arg) {
  std::string_view name = relay::op_name(call);
  if constexpr (std::is_floating_point_v<T>) {
    if (name == "negative") return unary<T, T>(call, arg, [](T x) { return -x; });
    if (name == "sqrt") return unary<T, T>(call, arg, [](T x) { return std::sqrt(x); });
    if (name == "rsqrt") return unary<T, T>(call, arg, [](T x) { return T(1) / std::sqrt(x); });
  }
  return nullptr;
}

template <class T>
NDArray cast_from(const relay::Call* call, const NDArray& arg) {
  DataType to = call->checked_type_.as<TensorTypeNode>()->dtype;
  if (to == arg.dtype()) return arg;
  if (to == DataType::Float(32)) return unary<T, float>(call, arg, [](T x) { return static_cast<float>(x); });
  if (to == DataType::Float(64)) return unary<T, double>(call, arg, [](T x) { return static_cast<double>(x); });
  if constexpr (std::is_integral_v<T>) {  // floats beyond the range are the kernels' affair
    if (to == DataType::Int(32)) return unary<T, int32_t>(call, arg, [](T x) { return static_cast<int32_t>(x); });
    if (to == DataType::Int(64)) return unary<T, int64_t>(call, arg, [](T x) { return static_cast<int64_t>(x); });
  }
  return nullptr;
}

template <class T>
NDArray on_type(const relay::Call* call, const std::vector<NDArray>& args) {
  if (relay::op_name(call) == "cast") return cast_from<T>(call, args[0]);
  return args.size() == 2 ? on_two<T>(call, args) : on_one<T>(call, args[0]);
}

}  // namespace

NDArray evaluate_arithmetic(const relay::Call* call, const std::vector<NDArray>& args) {
  DataType dtype = args[0].dtype();
  if (args.size() == 2 && args[1].dtype() != dtype) return nullptr;
  if (dtype == DataType::Float(32)) return on_type<float>(call, args);
  if (dtype == DataType::Float(64)) return on_type<double>(call, args);
  if (dtype == DataType::Int(32)) return on_type<int32_t>(call, args);
  if (dtype == DataType::Int(64)) return on_type<int64_t>(call, args);
  if (dtype == DataType::Int(8) && args.size() == 1) return on_type<int8_t>(call, args);
  if (dtype == DataType::UInt(8) && args.size() == 1) return on_type<uint8_t>(call, args);
  return nullptr;
}

}  // namespace tessera::op
