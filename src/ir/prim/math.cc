// Casts, the limits of types, and functions of numbers.

#include <cmath>
#include <limits>

#include "base/custom_type.h"
#include "ir/builtin.h"
#include "ir/prim/match.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr double kMaxHalf = 65504.0;
constexpr double kMaxBFloat = 3.38953138925153547590470800371487866880e38;

[[noreturn]] void no_limit(std::string_view what, DataType dtype) {
  throw Error(RuntimeError) << "there is no " << what << " of type " << dtype;
}

double largest_float(DataType dtype, std::string_view what) {
  if (dtype.is_float() && dtype.bits == 64) return std::numeric_limits<double>::max();
  if (dtype.is_float() && dtype.bits == 32) return std::numeric_limits<float>::max();
  if (dtype.is_float() && dtype.bits == 16) return kMaxHalf;
  if (dtype.is_bfloat() && dtype.bits == 16) return kMaxBFloat;
  no_limit(what, dtype);
}

PrimExpr cast_scalar(DataType dtype, const PrimExpr& value) {
  if (value.dtype() == dtype) return value;
  auto fold = [&](auto number) { return dtype.is_bool() ? bool_imm(number != 0) : make_const(dtype, number); };
  const bool is_truncated = dtype.is_integral() && !dtype.is_bool();
  if (auto* number = value.as<IntImm>()) return fold(number->value);
  if (auto* number = value.as<FloatImm>())
    return is_truncated ? wrapped_const(dtype, truncated_bits(number->value, dtype)) : fold(number->value);
  if (value.dtype().is_handle())
    throw Error(RuntimeError) << "cannot cast the handle " << value << " to " << dtype << "; see tir.reinterpret";
  return make_cast(dtype, value);
}

/// A rounding function: integers are themselves, constants are folded.
template <class F>
PrimExpr build_rounding(PrimExpr x, const Op& op, F function) {
  require_operands(x, x, op->name);
  if (x.dtype().is_integral()) return x;
  if (auto* value = x.as<FloatImm>()) return float_imm(x.dtype(), function(value->value));
  return make_call(x.dtype(), op, {x});
}

}  // namespace

PrimExpr cast(DataType dtype, PrimExpr value) {
  require_operands(value, value, "cast");
  if (value.dtype() == dtype) return value;
  if (dtype.lanes == 1) return cast_scalar(dtype, value);
  if (value.dtype().lanes == 1) return make_broadcast(cast_scalar(dtype.element(), value), dtype.lanes);
  if (auto* vector = value.as<Broadcast>(); vector && vector->lanes == dtype.lanes && is_const(vector->value))
    return make_broadcast(cast_scalar(dtype.element(), vector->value), dtype.lanes);
  return make_cast(dtype, std::move(value));
}

PrimExpr reinterpret(DataType dtype, PrimExpr value) {
  require_operands(value, value, "reinterpret");
  if (value.dtype() == dtype) return value;
  return make_call(dtype, builtin::reinterpret(), {value});
}

PrimExpr min_value(DataType dtype) {
  if (dtype.is_vector() || dtype.is_void()) no_limit("smallest value", dtype);
  if (dtype.code >= DataType::kCustom) {  // see target.datatype.register_min_func
    PackedFunc smallest = find_global("tvm.datatype.min." + custom_type_name(dtype.code));
    if (!smallest)
      no_limit("smallest value (register \"tvm.datatype.min." + custom_type_name(dtype.code) + "\")", dtype);
    return smallest(int{dtype.bits}).to<PrimExpr>();
  }
  if (dtype.is_int()) return int_imm(dtype, static_cast<int64_t>(-(uint64_t{1} << (dtype.bits - 1))));
  if (dtype.is_uint()) return int_imm(dtype, 0);
  return float_imm(dtype, -largest_float(dtype, "smallest value"));
}

PrimExpr max_value(DataType dtype) {
  if (dtype.is_vector() || dtype.is_void()) no_limit("largest value", dtype);
  if (dtype.is_int()) return int_imm(dtype, static_cast<int64_t>((uint64_t{1} << (dtype.bits - 1)) - 1));
  if (dtype.is_uint()) return wrapped_const(dtype, ~uint64_t{0});
  return float_imm(dtype, largest_float(dtype, "largest value"));
}

PrimExpr infinity(DataType dtype) {
  if (!dtype.is_scalar() || !dtype.is_floating()) no_limit("infinity", dtype);
  return float_imm(dtype, std::numeric_limits<double>::infinity());
}

PrimExpr abs(PrimExpr a) {
  require_operands(a, a, "abs");
  DataType dtype = a.dtype();
  if (dtype.is_uint()) return a;
  if (dtype.is_int()) {
    if (auto* value = as_int(a)) return *value < 0 ? -a : a;
    return make_select(a >= make_zero(dtype), a, -a);
  }
  if (!dtype.is_floating()) throw Error(RuntimeError) << "abs of " << a << ", which is " << dtype;
  if (auto* value = a.as<FloatImm>()) return float_imm(dtype, std::fabs(value->value));
  return make_call(dtype, builtin::fabs(), {a});
}

PrimExpr pow(PrimExpr a, PrimExpr b) {
  match_types(a, b, "pow");
  if (!a.dtype().is_float())
    throw Error(RuntimeError) << "pow is for floats; " << a << " and " << b << " are " << a.dtype()
                              << ". Write a product, or cast one operand to a float type";
  return make_call(a.dtype(), builtin::pow(), {a, b});
}

PrimExpr isnan(PrimExpr x) {
  require_operands(x, x, "isnan");
  DataType dtype = x.dtype(), result = DataType::Bool(dtype.lanes);
  if (dtype.is_integral()) return make_const(result, 0);
  if (!dtype.is_floating()) throw Error(RuntimeError) << "isnan of " << x << ", which is " << dtype;
  if (auto* value = x.as<FloatImm>()) return bool_imm(std::isnan(value->value));
  if (dtype.bits == 16) x = cast(DataType::Float(32, dtype.lanes), std::move(x));
  return make_call(result, builtin::isnan(), {x});
}

PrimExpr isinf(PrimExpr x) {
  require_operands(x, x, "isinf");
  DataType dtype = x.dtype();
  if (dtype.is_integral()) return make_const(DataType::Bool(dtype.lanes), 0);
  if (!dtype.is_floating()) throw Error(RuntimeError) << "isinf of " << x << ", which is " << dtype;
  return logical_and(equal(abs(x), infinity(dtype.element())), logical_not(isnan(x)));
}

PrimExpr isfinite(PrimExpr x) { return logical_and(logical_not(isinf(x)), logical_not(isnan(x))); }

PrimExpr floor(PrimExpr x) {
  return build_rounding(std::move(x), builtin::floor(), [](double v) { return std::floor(v); });
}
PrimExpr ceil(PrimExpr x) {
  return build_rounding(std::move(x), builtin::ceil(), [](double v) { return std::ceil(v); });
}
// Constants are rounded to the nearest, halves to the even neighbour.
PrimExpr round(PrimExpr x) {
  return build_rounding(std::move(x), builtin::round(), [](double v) { return std::nearbyint(v); });
}
PrimExpr nearbyint(PrimExpr x) {
  return build_rounding(std::move(x), builtin::nearbyint(), [](double v) { return std::nearbyint(v); });
}
PrimExpr trunc(PrimExpr x) {
  return build_rounding(std::move(x), builtin::trunc(), [](double v) { return std::trunc(v); });
}

PrimExpr unary_intrin(std::string_view op, PrimExpr x) {
  require_operands(x, x, op);
  DataType dtype = x.dtype();
  return make_call(dtype, op, {std::move(x)});
}

}  // namespace tessera
