#include "topi/elementwise.h"

#include <cmath>

#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera::topi {

te::Tensor elementwise(const te::Tensor& x, const std::function<PrimExpr(PrimExpr)>& body, const String& name,
                       const std::string& axis_prefix) {
  return compute(
      x->shape, axis_prefix, [&](const Array<PrimExpr>& i) { return body(te::load(x, i)); }, name, kElementwise);
}

te::Tensor cast(const te::Tensor& x, DataType dtype) {
  return elementwise(x, [dtype](PrimExpr e) { return tessera::cast(dtype, e); });
}

te::Tensor reinterpret(const te::Tensor& x, DataType dtype) {
  return elementwise(x, [dtype](PrimExpr e) { return tessera::reinterpret(dtype, e); });
}

namespace {

/// A limit of `clip` in the type of the elements; one that an integer type does not reach is its end.
PrimExpr limit_of(DataType dtype, const PrimExpr& limit) {
  auto* number = limit.as<FloatImm>();
  if (!number || !dtype.is_integral()) return tessera::cast(dtype, limit);
  const double ends = dtype.bits - (dtype.is_int() ? 1 : 0);
  if (number->value >= std::exp2(ends)) return max_value(dtype);
  if (number->value < (dtype.is_int() ? -std::exp2(ends) : 0.0)) return min_value(dtype);
  return tessera::cast(dtype, limit);
}

}  // namespace

te::Tensor clip(const te::Tensor& x, const PrimExpr& low, const PrimExpr& high) {
  return elementwise(x, [&](PrimExpr e) { return max(min(e, limit_of(x->dtype, high)), limit_of(x->dtype, low)); });
}

te::Tensor sign(const te::Tensor& x) {
  PrimExpr zero = make_zero(x->dtype), one = make_const(x->dtype, 1);
  return elementwise(
      x,
      [&](PrimExpr e) {
        if (x->dtype.is_uint()) return select(e > zero, one, zero);
        PrimExpr neither = x->dtype.is_floating() ? abs(e) : zero;  // 0, also of -0, or NaN
        return select(e > zero, one, select(e < zero, make_const(x->dtype, -1), neither));
      },
      "T_sign", "ax");
}

te::Tensor full(const Array<PrimExpr>& shape, DataType dtype, const PrimExpr& value, const String& name) {
  PrimExpr element = tessera::cast(dtype, value);
  return compute(shape, "ax", [&](const Array<PrimExpr>&) { return element; }, name, kElementwise);
}

namespace {

/// A function of one element that works in the element's own type.
using UnaryBody = PrimExpr (*)(PrimExpr);

struct IntrinsicRow {
  const char* name;       // of the topi function
  const char* intrinsic;  // of the operator it applies
};
constexpr IntrinsicRow kIntrinsics[] = {
    {"exp", "tir.exp"},     {"erf", "tir.erf"},     {"tanh", "tir.tanh"},   {"sigmoid", "tir.sigmoid"},
    {"log", "tir.log"},     {"log2", "tir.log2"},   {"log10", "tir.log10"}, {"sqrt", "tir.sqrt"},
    {"rsqrt", "tir.rsqrt"}, {"cos", "tir.cos"},     {"cosh", "tir.cosh"},   {"sin", "tir.sin"},
    {"sinh", "tir.sinh"},   {"tan", "tir.tan"},     {"acos", "tir.acos"},   {"acosh", "tir.acosh"},
    {"asin", "tir.asin"},   {"asinh", "tir.asinh"}, {"atan", "tir.atan"},   {"atanh", "tir.atanh"},
};

struct UnaryRow {
  const char* name;
  UnaryBody body;
};
const UnaryRow kUnary[] = {
    {"negative", [](PrimExpr e) { return -e; }},
    {"abs", [](PrimExpr e) { return abs(e); }},
    {"floor", [](PrimExpr e) { return floor(e); }},
    {"ceil", [](PrimExpr e) { return ceil(e); }},
    {"trunc", [](PrimExpr e) { return trunc(e); }},
    {"round", [](PrimExpr e) { return round(e); }},
    {"round_to_even", [](PrimExpr e) { return nearbyint(e); }},
    {"isnan", [](PrimExpr e) { return isnan(e); }},
    {"isfinite", [](PrimExpr e) { return isfinite(e); }},
    {"isinf", [](PrimExpr e) { return isinf(e); }},
    {"logical_not", [](PrimExpr e) { return logical_not(e); }},
    {"bitwise_not", [](PrimExpr e) { return ~e; }},
    {"hardswish",
     [](PrimExpr e) {
       auto number = [&](double value) { return make_const(e.dtype(), value); };
       return div(e * max(min(e + number(3), number(6)), number(0)), number(6));
     }},
};

[[maybe_unused]] const bool elementwise_registered = [] {
  for (const IntrinsicRow& row : kIntrinsics) {
    std::string name = std::string("topi.") + row.name;
    register_global(name, typed(name, [op = row.intrinsic](te::Tensor x) {
                      return elementwise(x, [op](PrimExpr e) { return unary_intrin(op, e); });
                    }));
  }
  for (const UnaryRow& row : kUnary) {
    std::string name = std::string("topi.") + row.name;
    register_global(name, typed(name, [body = row.body](te::Tensor x) { return elementwise(x, body); }));
  }
  return true;
}();

te::Tensor elemwise_sum(const Array<te::Tensor>& xs) {
  if (xs.empty()) throw Error(ValueError) << "elemwise_sum: there is nothing to add";
  return compute(
      xs[0]->shape, "ax",
      [&](const Array<PrimExpr>& i) {
        PrimExpr sum = te::load(xs[0], i);
        for (size_t k = 1; k < xs.size(); ++k) sum = sum + te::load(xs[k], i);
        return sum;
      },
      "T_elemwise_sum", kElementwise);
}

Globals elementwise_globals{
    {"topi.identity", identity},
    {"topi.cast", cast},
    {"topi.reinterpret", reinterpret},
    {"topi.clip", clip},
    {"topi.sign", sign},
    {"topi.full", [](Array<PrimExpr> shape, DataType dtype, PrimExpr value) { return full(shape, dtype, value); }},
    {"topi.full_like", [](te::Tensor x, PrimExpr value) { return full(x->shape, x->dtype, value, "T_full_like"); }},
    {"topi.elemwise_sum", elemwise_sum},
    {"topi.fixed_point_multiply", fixed_point_multiply},
    {"topi.fast_exp", fast_exp},
    {"topi.fast_tanh", fast_tanh},
    {"topi.fast_erf", fast_erf},
};

}  // namespace

te::Tensor identity(const te::Tensor& x) {
  return elementwise(x, [](PrimExpr e) { return e; });
}

te::Tensor fixed_point_multiply(const te::Tensor& x, int64_t multiplier, int shift) {
  return elementwise(x, [&](PrimExpr e) {
    return make_call(DataType::Int(32), "tir.q_multiply_shift",
                     {e, int_imm(DataType::Int(32), multiplier), PrimExpr(31), PrimExpr(shift)});
  });
}

}  // namespace tessera::topi
