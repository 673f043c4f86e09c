// qnn.requantize: integers of one scale and zero point as those of another.

#include <cmath>

#include "base/dtypes.h"
#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/qnn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"
#include "runtime/registry.h"
#include "topi/cpu/machine.h"

namespace tessera::op {
namespace {

using relay::RequantizeAttrs;

constexpr int kFractionBits = 31;

bool requantize_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<RequantizeAttrs>();
  if (data->dtype.code != DataType::kInt && data->dtype.code != DataType::kUInt)
    throw Error(TypeError) << "what is requantised must be integers, but is " << to_text(query.type(0));
  if (attrs->out_dtype.code != DataType::kInt && attrs->out_dtype.code != DataType::kUInt)
    throw Error(TypeError) << "out_dtype must be an integer type, got " << to_text(attrs->out_dtype);
  for (const char* known : {"None", "UPWARD", "TONEAREST"})
    if (attrs->rounding == known) {
      if (!check_affine(query, 1, 2, data->shape, attrs->axis) || !check_affine(query, 3, 4, data->shape, attrs->axis))
        return false;
      query.result(TensorType(data->shape, attrs->out_dtype));
      return true;
    }
  throw Error(TypeError) << "rounding is \"" << attrs->rounding << "\"; it is None, UPWARD or TONEAREST";
}

/// factor = multiplier / 2^31 * 2^shift
struct FixedPoint {
  int64_t multiplier;
  int shift;
};
FixedPoint fixed_point(double factor) {
  int shift = 0;
  const double fraction = std::frexp(factor, &shift);
  auto multiplier = static_cast<int64_t>(std::round(fraction * std::ldexp(1.0, kFractionBits)));
  if (multiplier == int64_t(1) << kFractionBits) multiplier /= 2, ++shift;
  return {multiplier, shift};
}

/// x * factor in integers, halfway up.
Expr times_upward(const Expr& x, double factor) {
  FixedPoint fixed = fixed_point(factor);
  return relay::call_op("fixed_point_multiply", {x},
                        relay::make_attrs<relay::FixedPointMultiplyAttrs>([&](auto& attrs) {
                          attrs.multiplier = static_cast<int32_t>(fixed.multiplier);
                          attrs.shift = fixed.shift;
                        }));
}

/// x * factor in integers, halfway away from zero.
Expr times_to_nearest(const Expr& x, double factor, const Array<PrimExpr>& shape) {
  auto filled = [&](const char* op, const Array<Expr>& value) {
    return relay::call_op(op, value, relay::make_attrs<relay::InitOpAttrs>([&](auto& attrs) {
                            attrs.shape = shape;
                            attrs.dtype = kInt64;
                          }));
  };
  auto number = [](int64_t value) { return relay::make_constant(int_scalar(value, kInt64)); };
  FixedPoint fixed = fixed_point(factor);
  Expr wide = relay::cast(x, kInt64);
  if (fixed.shift > 0) wide = relay::call_op("left_shift", {wide, number(fixed.shift)});
  wide = relay::multiply(wide, number(fixed.multiplier));
  const int right = kFractionBits - std::min(fixed.shift, 0);
  const int64_t half = int64_t(1) << (right - 1);
  Expr is_positive = relay::call_op("greater_equal", {wide, filled("zeros", {})});
  Expr more = relay::where(is_positive, filled("full", {number(half)}), filled("full", {number(half - 1)}));
  return relay::cast(relay::call_op("right_shift", {relay::add(wide, more), number(right)}), kInt32);
}

/// Floats are quicker where there are vectors of them; v0.10 goes by SSE 4.1.
bool prefers_floats(const relay::GraphEnvironment& environment) {
  return names_cpu(environment) && has_feature(environment, "sse4.1");
}

}  // namespace

bool has_feature(const relay::GraphEnvironment& environment, std::string_view feature) {
  if (!environment.is_for_cpu()) return false;
  auto machine = topi::machine_of(environment.target);
  for (const String& one : machine->features)
    if (std::string_view(one) == feature) return true;
  return false;
}

bool names_cpu(const relay::GraphEnvironment& environment) {
  return environment.is_for_cpu() && environment.target.str().find("-mcpu") != std::string::npos;
}

std::optional<double> number_of(const Expr& expr) { return relay::scalar_value(expr); }

Expr narrowed(const Expr& x, DataType dtype) {
  auto [low, high] = integer_range(dtype);
  return relay::cast(relay::clip(x, low, high), dtype);
}

Expr requantized(const Expr& given, const Type& type, const Requantize& how,
                 const relay::GraphEnvironment& environment) {
  const Array<PrimExpr>& shape = tensor_of(type)->shape;
  const size_t rank = shape.size();
  std::optional<double> from_scale = number_of(how.from.scale), to_scale = number_of(how.to.scale);
  const bool keeps_scale = from_scale && to_scale && *from_scale == *to_scale;
  const bool in_floats = !from_scale || !to_scale || how.compute_dtype == "float32" ||
                         (how.compute_dtype == "None" && prefers_floats(environment));
  Expr x = relay::cast(given, kInt32);
  std::optional<double> from_zero = number_of(how.from.zero), to_zero = number_of(how.to.zero);
  if (keeps_scale && from_zero && from_zero == to_zero) return x;
  if (from_zero != 0.0) {
    Expr zero = how.from.zero;
    zero = rank > 0 && tensor_of(how.from.zero_type)->shape.empty()
               ? relay::reshape(zero, {PrimExpr(-1)})
               : along_axis(zero, how.from.zero_type, how.axis, rank);
    x = relay::subtract(x, relay::cast(zero, kInt32));
  }
  if (!keeps_scale && in_floats) {
    Expr factor = relay::divide(along_axis(how.from.scale, how.from.scale_type, how.axis, rank),
                                along_axis(how.to.scale, how.to.scale_type, how.axis, rank));
    Expr scaled = relay::multiply(relay::cast(x, kFloat32), factor);
    x = how.rounding == "TONEAREST" ? relay::call_op("round", {scaled})
                                    : relay::call_op("floor", {relay::add(scaled, relay::make_scalar(0.5, kFloat32))});
    x = relay::cast(x, kInt32);
  } else if (!keeps_scale) {
    const double factor = *from_scale / *to_scale;
    x = how.rounding == "TONEAREST" ? times_to_nearest(x, factor, shape) : times_upward(x, factor);
  }
  if (to_zero != 0.0) x = relay::add(relay::cast(along_axis(how.to.zero, how.to.zero_type, how.axis, rank), kInt32), x);
  return x;
}

namespace {

/// How calls are lowered that leave it open, on this thread (relay.qnn.op.requantize_config), the innermost last.
struct Config {
  String rounding, compute_dtype;
};
thread_local std::vector<Config> configs;

void enter_config(String rounding, String compute_dtype) {
  configs.push_back({std::move(rounding), std::move(compute_dtype)});
}
void exit_config() {
  if (!configs.empty()) configs.pop_back();
}

String or_by_config(const String& given, String Config::* field) {
  return given == "None" && !configs.empty() ? configs.back().*field : given;
}

Globals requantize_globals{
    {"relay.qnn.enter_requantize_config", enter_config},
    {"relay.qnn.exit_requantize_config", exit_config},
};

}  // namespace

static Expr plain_requantize(const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                             const relay::GraphEnvironment& environment) {
  auto* attrs = given.as<RequantizeAttrs>();
  Requantize how{{args[1], args[2], types[1], types[2]},
                 {args[3], args[4], types[3], types[4]},
                 attrs->axis,
                 or_by_config(attrs->rounding, &Config::rounding),
                 or_by_config(attrs->compute_dtype, &Config::compute_dtype)};
  return narrowed(requantized(args[0], types[0], how, environment), attrs->out_dtype);
}

static void requantize_records() {
  OpRecord("qnn.requantize")
      .doc("Integers of one scale and zero point as those of another.")
      .attrs<RequantizeAttrs>()
      .input("data", "integers")
      .input("input_scale", "what a step of them stands for")
      .input("input_zero_point", "which of them stands for 0")
      .input("output_scale", "the same of the result")
      .input("output_zero_point", "the same of the result")
      .support_level(11)
      .type("Requantize", requantize_type)
      .set(kCanonicalize, canonicalization("qnn.requantize", plain_requantize));
}

[[gnu::init_priority(kFamilies)]] static const OpFamily requantize_family{requantize_records};

}  // namespace tessera::op
