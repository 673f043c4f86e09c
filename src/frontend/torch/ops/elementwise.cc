// Operators on single elements, broadcast to each other where there are several inputs.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/lists.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/scope.h"
#include "ir/prim/ops.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

const DataType kBool = DataType::Bool();

Expr like(const Operation& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

/// Of floats; integers become floats first.
Converter float_unary(const char* op) {
  return [op](Operation& in) { return Values{call_op(op, {as_float(in, in[0])})}; };
}
/// Rounding, which leaves integers as they are.
Converter whole_unary(const char* op) {
  return [op](Operation& in) {
    const Value& x = in.value(0);
    if (x.is_known_number()) {
      const double value = x.as_real();
      std::string_view name = op;
      const double out = name == "floor" ? std::floor(value) : name == "ceil" ? std::ceil(value) : std::trunc(value);
      return Values{Value::of(whole_part(out))};
    }
    return Values{is_float(in.dtype(in[0])) ? call_op(op, {in[0]}) : in[0]};
  };
}
Converter any_unary(const char* op) {
  return [op](Operation& in) { return Values{call_op(op, {in[0]})}; };
}

// ---- arithmetic of two ----------------------------------------------------------------------------------------------

double number_of(std::string_view op, double a, double b) {
  if (op == "add") return a + b;
  if (op == "subtract") return a - b;
  if (op == "multiply") return a * b;
  if (op == "divide") return a / b;
  if (op == "power") return std::pow(a, b);
  if (op == "floor_divide") return std::floor(a / b);
  if (op == "floor_mod") return a - std::floor(a / b) * b;
  if (op == "trunc_divide") return std::trunc(a / b);
  if (op == "trunc_mod") return std::fmod(a, b);
  return op == "maximum" ? std::max(a, b) : std::min(a, b);
}

std::optional<int64_t> integer_of(std::string_view op, int64_t a, int64_t b) {
  int64_t out = 0;
  if (op == "add") return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "subtract") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "multiply") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (op == "maximum") return std::max(a, b);
  if (op == "minimum") return std::min(a, b);
  if (op == "power") {
    const double value = std::pow(static_cast<double>(a), static_cast<double>(b));
    return b < 0 || std::abs(value) > 9e15 ? std::nullopt : std::optional(static_cast<int64_t>(value));
  }
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  const int64_t quotient = a / b, rest = a % b;
  const bool moves = rest != 0 && (rest < 0) != (b < 0);
  if (op == "floor_divide") return quotient - moves;
  if (op == "floor_mod") return moves ? rest + b : rest;
  if (op == "trunc_divide") return quotient;
  if (op == "trunc_mod") return rest;
  return std::nullopt;
}

/// Numbers of the program, computed while importing; those that a run decides as tensors without dimensions.
Value of_numbers(Operation& in, std::string_view op, const Value& a, const Value& b) {
  const bool is_real = a.kind == Value::Float || b.kind == Value::Float || op == "divide";
  if (!a.cell && !b.cell) {
    if (!is_real)
      if (std::optional<int64_t> out = integer_of(op, a.integer, b.integer)) return Value::of(*out);
    return Value::of(number_of(op, a.as_real(), b.as_real()));
  }
  const DataType dtype = is_real ? DataType::Float(64) : DataType::Int(64);
  auto operand = [&](const Value& x) { return as_type(in, Value(in.number_expr(x)), dtype); };
  return Value::number(is_real ? Value::Float : Value::Int, call_op(op, {operand(a), operand(b)}));
}

Expr of_tensors(Operation& in, const char* op, const Value& a, const Value& b, DataType dtype) {
  return call_op(op, {as_type(in, a, dtype), as_type(in, b, dtype)});
}

Converter binary(const char* op, const char* of_bools = nullptr) {
  return [op, of_bools](Operation& in) {
    const Value &a = in.value(0), &b = in.value(1);
    if (a.is_number() && b.is_number()) return Values{of_numbers(in, op, a, b)};
    const DataType dtype = promoted(in, {a, b});
    if (dtype.is_bool() && of_bools) return Values{of_tensors(in, of_bools, a, b, dtype)};
    return Values{of_tensors(in, op, a, b, dtype)};
  };
}

Expr times_alpha(Operation& in, const Expr& x, DataType dtype) {
  const Value& alpha = in.value_or_absent("alpha");
  if (alpha.is_absent() || (alpha.is_known_number() && alpha.as_real() == 1)) return x;
  return multiply(x, as_type(in, alpha, dtype));
}

/// a + alpha * b, or a - alpha * b; texts and lists are appended.
Values added(Operation& in, const char* op) {
  Value a = in.value(0), b = in.value(1);
  if (a.kind == Value::List && b.kind == Value::List) {
    if (is_in_place(in.node().op)) return {extended_list(in, a, b)};
    Value out = a;
    out.items = std::make_shared<std::vector<Value>>(*a.items);
    if (has_rows(a)) out = list_of_rows((*a.items)[0].expr(), item_kind(in, a, Value()));
    return {extended_list(in, out, b)};
  }
  if (a.kind == Value::Text && b.kind == Value::Text) return {Value::of(a.text + b.text)};
  if (a.is_number() && b.is_number() && !in.has("alpha")) return {of_numbers(in, op, a, b)};
  const DataType dtype = promoted(in, {a, b});
  Expr lhs = as_type(in, a, dtype), rhs = as_type(in, b, dtype);
  rhs = times_alpha(in, rhs, dtype);
  if (dtype.is_bool()) return {call_op("logical_or", {lhs, rhs})};
  return {call_op(op, {lhs, rhs})};
}
Values add_rows_of(Operation& in) { return added(in, "add"); }
Values subtracted(Operation& in) { return added(in, "subtract"); }
Values reverse_subtracted(Operation& in) {
  const DataType dtype = promoted(in, {in.value(0), in.value(1)});
  Expr x = times_alpha(in, as_type(in, in.value(0), dtype), dtype);
  return {subtract(as_type(in, in.value(1), dtype), x)};
}

/// The quotient rounded towards minus infinity, as torch has it: exact for floats too.
Expr floor_divided(Operation& in, const Expr& a, const Expr& b) {
  if (!is_float(in.dtype(a))) return call_op("floor_divide", {a, b});
  Expr rest = call_op("trunc_mod", {a, b}), zero = like(in, a, 0), quotient = divide(subtract(a, rest), b);
  Expr moves = call_op("logical_and",
                       {call_op("not_equal", {rest, zero}), call_op("not_equal", {less(rest, zero), less(b, zero)})});
  quotient = where(moves, subtract(quotient, like(in, a, 1)), quotient);
  return where(equal(b, zero), divide(a, b), call_op("floor", {add(quotient, like(in, a, 0.5))}));
}

Values divided(Operation& in) {
  const Value &a = in.value(0), &b = in.value(1);
  std::string mode = in.text("rounding_mode", "");
  if (a.is_number() && b.is_number()) return {of_numbers(in, "divide", a, b)};
  DataType dtype = promoted(in, {a, b});
  if (mode.empty() && !is_float(dtype)) dtype = in.default_dtype();
  Expr lhs = as_type(in, a, dtype), rhs = as_type(in, b, dtype);
  if (mode.empty()) return {divide(lhs, rhs)};
  if (mode == "floor") return {floor_divided(in, lhs, rhs)};
  if (mode != "trunc") in.invalid("the rounding mode is floor or trunc");
  if (is_float(dtype)) return {call_op("trunc", {divide(lhs, rhs)})};
  return {call_op("trunc_divide", {lhs, rhs})};
}
Values floor_divide_of(Operation& in) {
  const Value &a = in.value(0), &b = in.value(1);
  if (a.is_number() && b.is_number()) return {of_numbers(in, "floor_divide", a, b)};
  const DataType dtype = promoted(in, {a, b});
  return {floor_divided(in, as_type(in, a, dtype), as_type(in, b, dtype))};
}

/// The remainder has the sign of the divisor, also where that is infinite.
Values remainder_of(Operation& in) {
  const Value &a = in.value(0), &b = in.value(1);
  if (a.is_number() && b.is_number()) return {of_numbers(in, "floor_mod", a, b)};
  const DataType dtype = promoted(in, {a, b});
  return {onnx::apply(in, "Mod", {as_type(in, a, dtype), as_type(in, b, dtype)})};
}

Values powered_of(Operation& in) {
  const Value &base = in.value(0), &exponent = in.value(1);
  if (base.is_number() && exponent.is_number()) return {of_numbers(in, "power", base, exponent)};
  const DataType dtype = promoted(in, {base, exponent});
  if (exponent.is_known_number()) {
    Expr x = as_type(in, base, dtype);
    const double by = exponent.as_real();
    if (by == 1) return {x};
    if (by == 2) return {multiply(x, x)};
    if (by == 3) return {multiply(x, multiply(x, x))};
    if (by == 0.5) return {sqrt(x)};
    if (by == -0.5 && is_float(dtype)) return {rsqrt(x)};
    if (by == -1 && is_float(dtype)) return {divide(like(in, x, 1), x)};
  }
  if (is_float(dtype)) return {of_tensors(in, "power", base, exponent, dtype)};
  const DataType wide = DataType::Float(64);
  return {cast(call_op("round", {of_tensors(in, "power", base, exponent, wide)}), dtype)};
}

// ---- comparisons and logic ------------------------------------------------------------------------------------------

bool compared(std::string_view op, double a, double b) {
  if (op == "less") return a < b;
  if (op == "greater") return a > b;
  if (op == "less_equal") return a <= b;
  if (op == "greater_equal") return a >= b;
  return op == "equal" ? a == b : a != b;
}

Converter comparison(const char* op) {
  return [op](Operation& in) {
    const Value &lhs = in.value(0), &rhs = in.value(1);
    if (lhs.is_known_number() && rhs.is_known_number())
      return Values{Value::of(compared(op, lhs.as_real(), rhs.as_real()))};
    if (lhs.kind == Value::Text && rhs.kind == Value::Text)
      return Values{Value::of((lhs.text == rhs.text) == (std::string_view(op) == "equal"))};
    if (lhs.kind == Value::List && rhs.kind == Value::List) {
      bool same = lhs.items->size() == rhs.items->size();
      for (size_t i = 0; same && i < lhs.items->size(); ++i)
        same = in.int_of((*lhs.items)[i], "a list that is compared") ==
               in.int_of((*rhs.items)[i], "a list that is compared");
      return Values{Value::of(same == (std::string_view(op) == "equal"))};
    }
    Expr out = of_tensors(in, op, lhs, rhs, promoted(in, {lhs, rhs}));
    if (!lhs.is_number() || !rhs.is_number()) return Values{out};
    if (std::optional<std::vector<int64_t>> known = in.constant_ints(out); known && known->size() == 1)
      return Values{Value::of((*known)[0] != 0)};
    return Values{Value::number(Value::Bool, out)};
  };
}

Converter logical(const char* op) {
  return [op](Operation& in) {
    const Value &a = in.value(0), &b = in.value(1);
    if (a.is_known_number() && b.is_known_number()) {
      const bool x = a.as_real() != 0, y = b.as_real() != 0;
      std::string_view name = op;
      return Values{Value::of(name == "logical_and" ? x && y : name == "logical_or" ? x || y : x != y)};
    }
    Expr out = call_op(op, {as_type(in, a, kBool), as_type(in, b, kBool)});
    return Values{a.is_number() && b.is_number() ? Value::number(Value::Bool, out) : Value(out)};
  };
}
Values logical_not_of(Operation& in) {
  const Value& a = in.value(0);
  if (a.is_known_number()) return {Value::of(a.as_real() == 0)};
  Expr out = call_op("logical_not", {as_type(in, a, kBool)});
  return {a.is_number() ? Value::number(Value::Bool, out) : Value(out)};
}

Converter bitwise(const char* op, const char* of_bools) {
  return [op, of_bools](Operation& in) {
    const Value &a = in.value(0), &b = in.value(1);
    if (a.is_known_number() && b.is_known_number()) {
      const int64_t x = a.integer, y = b.integer;
      std::string_view name = op;
      const int64_t out = name == "bitwise_and" ? x & y : name == "bitwise_or" ? x | y : x ^ y;
      return Values{a.kind == Value::Bool && b.kind == Value::Bool ? Value::of(out != 0) : Value::of(out)};
    }
    const DataType dtype = promoted(in, {a, b});
    Expr out = of_tensors(in, dtype.is_bool() ? of_bools : op, a, b, dtype);
    return Values{a.is_number() && b.is_number() ? Value::number(dtype.is_bool() ? Value::Bool : Value::Int, out)
                                                 : Value(out)};
  };
}
Values bitwise_not_of(Operation& in) {
  return {call_op(in.dtype(in[0]).is_bool() ? "logical_not" : "bitwise_not", {in[0]})};
}

/// By its width or more everything is shifted out; floats are multiplied by a power of two.
Converter shifted(bool is_left) {
  return [is_left](Operation& in) {
    const Value &a = in.value(0), &b = in.value(1);
    const DataType dtype = promoted(in, {a, b});
    Expr x = as_type(in, a, dtype), by = as_type(in, b, dtype);
    if (is_float(dtype)) return Values{multiply(x, power(like(in, x, 2), is_left ? by : negative(by)))};
    return Values{onnx::apply(in, "BitShift", {x, by}, {{"direction", is_left ? "LEFT" : "RIGHT"}})};
  };
}

// ---- the rest -------------------------------------------------------------------------------------------------------

Values negated(Operation& in) {
  const Value& x = in.value(0);
  if (x.is_known_number()) return {x.kind == Value::Float ? Value::of(-x.real) : Value::of(-x.integer)};
  Expr out = negative(in[0]);
  return {x.is_number() ? Value::number(x.kind, out) : Value(out)};
}
Values reciprocal_of(Operation& in) {
  Expr x = as_float(in, in[0]);
  return {divide(like(in, x, 1), x)};
}
Values squared_of(Operation& in) { return {multiply(in[0], in[0])}; }
Values log1p_of(Operation& in) {
  // log(1 + x) loses what x has below one; x / ((1 + x) - 1) brings it back.
  Expr x = as_float(in, in[0]), one = like(in, x, 1), whole = add(x, one), rest = subtract(whole, one);
  Expr exact = multiply(log(whole), divide(x, where(equal(rest, like(in, x, 0)), one, rest)));
  Expr is_finite = call_op("isfinite", {whole});
  return {where(equal(rest, like(in, x, 0)), x, where(is_finite, exact, log(whole)))};
}
Values expm1_of(Operation& in) {
  // For small x by its series' even form: 2 * sinh(x / 2) * exp(x / 2).
  Expr x = as_float(in, in[0]), half = multiply(x, like(in, x, 0.5));
  Expr is_small = less(call_op("abs", {x}), like(in, x, 0.5));
  Expr small = multiply(like(in, x, 2), multiply(call_op("sinh", {half}), exp(half)));
  return {where(is_small, small, subtract(exp(x), like(in, x, 1)))};
}
Values rounded_of(Operation& in) {
  if (in.value(0).is_known_number()) return {Value::of(std::nearbyint(in.value(0).as_real()))};
  Expr x = in[0];
  const int64_t decimals = in.integer("decimals", 0);
  if (!is_float(in.dtype(x))) return {x};
  if (decimals == 0) return {call_op("round_to_even", {x})};
  Expr by = like(in, x, std::pow(10.0, static_cast<double>(decimals)));
  return {divide(call_op("round_to_even", {multiply(x, by)}), by)};
}
Values sign_of(Operation& in) {
  if (in.dtype(in[0]).is_bool()) return {in[0]};
  return {call_op("sign", {in[0]})};
}
Values is_finite_of(Operation& in) {
  if (is_float(in.dtype(in[0]))) return {call_op("isfinite", {in[0]})};
  return {ones_like(as_type(in, in[0], kBool))};
}
Converter float_question(const char* op) {
  return [op](Operation& in) {
    if (is_float(in.dtype(in[0]))) return Values{call_op(op, {in[0]})};
    return Values{zeros_like(as_type(in, in[0], kBool))};
  };
}

/// Limits are numbers or tensors, either may be left out.
Values clamped(Operation& in) {
  const Value &low = in.value_or_absent("min"), &high = in.value_or_absent("max");
  const DataType dtype = promoted(in, {in.value(0), low, high});
  Expr out = as_type(in, in.value(0), dtype);
  const bool is_plain = is_float(dtype) && low.is_known_number() && high.is_known_number();
  if (is_plain && low.as_real() <= high.as_real()) return {clip(out, low.as_real(), high.as_real())};
  if (!low.is_absent()) out = maximum(out, as_type(in, low, dtype));
  if (!high.is_absent()) out = minimum(out, as_type(in, high, dtype));
  return {out};
}

/// self + value * a (op) b
Converter added_of_two(const char* op) {
  return [op](Operation& in) {
    DataType dtype = promoted(in, {in.value(0), in.value(1), in.value(2)});
    if (std::string_view(op) == "divide" && !is_float(dtype)) dtype = in.default_dtype();
    Expr part = of_tensors(in, op, in.value(1), in.value(2), dtype);
    if (in.has("value") && in.number("value") != 1) part = multiply(part, as_type(in, in.value("value"), dtype));
    return Values{add(as_type(in, in.value(0), dtype), part)};
  };
}
Values interpolated(Operation& in) {
  const DataType dtype = promoted(in, {in.value(0), in.value(1)});
  Expr from = as_type(in, in.value(0), dtype), to = as_type(in, in.value(1), dtype);
  return {add(from, multiply(as_type(in, in.value("weight"), dtype), subtract(to, from)))};
}

Values atan2_of(Operation& in) {
  const DataType given = promoted(in, {in.value(0), in.value(1)}), dtype = is_float(given) ? given : in.default_dtype();
  Expr y = as_type(in, in.value(0), dtype), x = as_type(in, in.value(1), dtype), zero = like(in, x, 0);
  Expr base = call_op("atan", {divide(y, x)}), half = like(in, x, M_PI / 2), pi = like(in, x, M_PI);
  Expr turned = where(less(y, zero), subtract(base, pi), add(base, pi));
  Expr upright = where(greater(y, zero), half, where(less(y, zero), negative(half), zero));
  return {where(greater(x, zero), base, where(less(x, zero), turned, upright))};
}

Values chosen_of(Operation& in) {
  if (!in.has("other") && in.size() < 3)
    return {Value::of([&] {
      Expr rows = onnx::apply(in, "NonZero", {in[0]});
      std::vector<Value> parts;
      for (size_t i = 0; i < std::max<size_t>(in.rank(in[0]), 1); ++i)
        parts.push_back(Value(squeeze(take(rows, make_ints({static_cast<int64_t>(i)}), 0), int_array({0}))));
      return parts;
    }())};
  const DataType dtype = promoted(in, {in.value(1), in.value(2)});
  return {where(as_type(in, in.value(0), kBool), as_type(in, in.value(1), dtype), as_type(in, in.value(2), dtype))};
}

Values masked_fill_of(Operation& in) {
  Expr x = in[0];
  const DataType dtype = in.dtype(x);
  return {where(as_type(in, in.value("mask"), kBool), as_type(in, in.value("value"), dtype), x)};
}

/// erf by its complement would lose what is small; here it is good enough as one less erf.
Values erfc_of(Operation& in) {
  Expr x = as_float(in, in[0]);
  return {subtract(like(in, x, 1), call_op("erf", {x}))};
}

/// One of `a` and `b` by what comparison says, where either is NaN that.
Converter extreme_of_two(const char* op, const char* of_bools) {
  return [op, of_bools](Operation& in) {
    const Value &a = in.value(0), &b = in.value(1);
    if (a.is_number() && b.is_number()) return Values{of_numbers(in, op, a, b)};
    const DataType dtype = promoted(in, {a, b});
    return Values{of_tensors(in, dtype.is_bool() ? of_bools : op, a, b, dtype)};
  };
}

}  // namespace

Rows elementwise_rows() {
  return {
      {"aten::__and__", bitwise("bitwise_and", "logical_and")},
      {"aten::__iand__", bitwise("bitwise_and", "logical_and")},
      {"aten::__ilshift__", shifted(true)},
      {"aten::__ior__", bitwise("bitwise_or", "logical_or")},
      {"aten::__irshift__", shifted(false)},
      {"aten::__ixor__", bitwise("bitwise_xor", "logical_xor")},
      {"aten::__lshift__", shifted(true)},
      {"aten::__not__", logical_not_of},
      {"aten::__or__", bitwise("bitwise_or", "logical_or")},
      {"aten::__rshift__", shifted(false)},
      {"aten::__xor__", bitwise("bitwise_xor", "logical_xor")},
      {"aten::abs", any_unary("abs")},
      {"aten::absolute", any_unary("abs")},
      {"aten::acos", float_unary("acos")},
      {"aten::acosh", float_unary("acosh")},
      {"aten::add", add_rows_of},
      {"aten::addcdiv", added_of_two("divide")},
      {"aten::addcmul", added_of_two("multiply")},
      {"aten::asin", float_unary("asin")},
      {"aten::asinh", float_unary("asinh")},
      {"aten::atan", float_unary("atan")},
      {"aten::atan2", atan2_of},
      {"aten::atanh", float_unary("atanh")},
      {"aten::bitwise_and", bitwise("bitwise_and", "logical_and")},
      {"aten::bitwise_left_shift", shifted(true)},
      {"aten::bitwise_not", bitwise_not_of},
      {"aten::bitwise_or", bitwise("bitwise_or", "logical_or")},
      {"aten::bitwise_right_shift", shifted(false)},
      {"aten::bitwise_xor", bitwise("bitwise_xor", "logical_xor")},
      {"aten::ceil", whole_unary("ceil")},
      {"aten::clamp", clamped},
      {"aten::clamp_max", clamped},
      {"aten::clamp_min", clamped},
      {"aten::clip", clamped},
      {"aten::cos", float_unary("cos")},
      {"aten::cosh", float_unary("cosh")},
      {"aten::div", divided},
      {"aten::divide", divided},
      {"aten::eq", comparison("equal")},
      {"aten::erf", float_unary("erf")},
      {"aten::erfc", erfc_of},
      {"aten::exp", float_unary("exp")},
      {"aten::expm1", expm1_of},
      {"aten::floor", whole_unary("floor")},
      {"aten::floor_divide", floor_divide_of},
      {"aten::floordiv", floor_divide_of},
      {"aten::fmod", binary("trunc_mod")},
      {"aten::ge", comparison("greater_equal")},
      {"aten::greater", comparison("greater")},
      {"aten::greater_equal", comparison("greater_equal")},
      {"aten::gt", comparison("greater")},
      {"aten::isfinite", is_finite_of},
      {"aten::isinf", float_question("isinf")},
      {"aten::isnan", float_question("isnan")},
      {"aten::le", comparison("less_equal")},
      {"aten::lerp", interpolated},
      {"aten::less", comparison("less")},
      {"aten::less_equal", comparison("less_equal")},
      {"aten::log", float_unary("log")},
      {"aten::log10", float_unary("log10")},
      {"aten::log1p", log1p_of},
      {"aten::log2", float_unary("log2")},
      {"aten::logical_and", logical("logical_and")},
      {"aten::logical_not", logical_not_of},
      {"aten::logical_or", logical("logical_or")},
      {"aten::logical_xor", logical("logical_xor")},
      {"aten::lt", comparison("less")},
      {"aten::masked_fill", masked_fill_of},
      {"aten::maximum", extreme_of_two("maximum", "logical_or")},
      {"aten::minimum", extreme_of_two("minimum", "logical_and")},
      {"aten::mul", binary("multiply", "logical_and")},
      {"aten::multiply", binary("multiply", "logical_and")},
      {"aten::ne", comparison("not_equal")},
      {"aten::neg", negated},
      {"aten::not_equal", comparison("not_equal")},
      {"aten::pow", powered_of},
      {"aten::reciprocal", reciprocal_of},
      {"aten::remainder", remainder_of},
      {"aten::round", rounded_of},
      {"aten::rsqrt", float_unary("rsqrt")},
      {"aten::rsub", reverse_subtracted},
      {"aten::sigmoid", float_unary("sigmoid")},
      {"aten::sign", sign_of},
      {"aten::sin", float_unary("sin")},
      {"aten::sinh", float_unary("sinh")},
      {"aten::sqrt", float_unary("sqrt")},
      {"aten::square", squared_of},
      {"aten::sub", subtracted},
      {"aten::subtract", subtracted},
      {"aten::tan", float_unary("tan")},
      {"aten::tanh", float_unary("tanh")},
      {"aten::true_divide", divided},
      {"aten::trunc", whole_unary("trunc")},
      {"aten::where", chosen_of},
  };
}

}  // namespace tessera::torch
