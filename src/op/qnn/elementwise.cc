// Element by element on integers that stand for real numbers: qnn.add, subtract, mul, concatenate, leaky_relu, and functions of
// one operand, which go by way of the real numbers.

#include <string>

#include "base/dtypes.h"
#include "op/qnn/affine.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/qnn.h"
#include "relay/attrs/transform.h"
#include "relay/expr.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::op {
namespace {

using relay::BroadcastAttrs;

AffineArgs affine_at(const Array<Expr>& args, const Array<Type>& types, size_t i) {
  return {args[i], args[i + 1], types[i], types[i + 1]};
}

DataType dtype_at(const Array<Type>& types, size_t i) { return tensor_of(types[i])->dtype; }

// ---- two operands ---------------------------------------------------------------------------------------------------

/// (lhs, rhs, scale and zero point of each, those of the result)
bool binary_type(TypeQuery& query) {
  auto *lhs = query.tensor(0), *rhs = query.tensor(1);
  if (!lhs || !rhs) return false;
  auto* attrs = query.attrs_as<BroadcastAttrs>();
  if (!check_affine(query, 2, 3, lhs->shape, attrs->lhs_axis) ||
      !check_affine(query, 4, 5, rhs->shape, attrs->rhs_axis) || !check_affine(query, 6, 7, {}, -1))
    return false;
  return broadcast(query);
}

/// Both operands at the scale and zero point of the result.
template <bool adds>
Expr plain_sum(const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
               const relay::GraphEnvironment& environment) {
  auto* attrs = given.as<BroadcastAttrs>();
  const AffineArgs to = affine_at(args, types, 6);
  Expr lhs = requantized(args[0], types[0], {affine_at(args, types, 2), to, attrs->lhs_axis}, environment);
  Expr rhs = requantized(args[1], types[1], {affine_at(args, types, 4), to, attrs->rhs_axis}, environment);
  Expr out = adds ? relay::add(lhs, rhs) : relay::subtract(lhs, rhs);
  if (number_of(to.zero) != 0.0) out = adds ? relay::subtract(out, to.zero) : relay::add(out, to.zero);
  return narrowed(out, dtype_at(types, 0));
}

Expr plain_product(const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                   const relay::GraphEnvironment& environment) {
  auto* attrs = given.as<BroadcastAttrs>();
  auto centred = [&](size_t i, size_t affine, int axis) {
    Expr x = relay::cast(args[i], kInt32);
    if (number_of(args[affine + 1]) == 0.0) return x;
    return relay::subtract(x, along_axis(args[affine + 1], types[affine + 1], axis, tensor_of(types[i])->shape.size()));
  };
  Expr out = relay::multiply(centred(0, 2, attrs->lhs_axis), centred(1, 4, attrs->rhs_axis));
  AffineArgs from = affine_at(args, types, 2);
  auto lhs = number_of(args[2]), rhs = number_of(args[4]);
  from.scale = lhs && rhs ? relay::make_scalar(*lhs * *rhs, kFloat32) : relay::multiply(args[2], args[4]);
  from.zero = relay::make_scalar(0, kInt32);
  from.zero_type = TensorType({}, kInt32);
  Type type = TensorType(tensor_of(types.back())->shape, kInt32);
  return narrowed(requantized(out, type, {from, affine_at(args, types, 6), attrs->lhs_axis}, environment),
                  dtype_at(types, 0));
}

// ---- parts side by side ---------------------------------------------------------------------------------------------

/// (parts, their scales, their zero points, scale and zero point of the result)
bool concatenate_type(TypeQuery& query) {
  auto *parts = query.tuple(0), *scales = query.tuple(1), *zeros = query.tuple(2);
  if (!parts || !scales || !zeros) return false;
  if (scales->fields_.size() != parts->fields_.size() || zeros->fields_.size() != parts->fields_.size())
    throw Error(TypeError) << "there are " << parts->fields_.size() << " parts, but " << scales->fields_.size()
                           << " scales and " << zeros->fields_.size() << " zero points";
  auto rule = Op::get("concatenate").slot(relay::kTypeRule).to<Ref<relay::TypeRuleSlot>>();
  return rule->rule(query);
}

/// The fields of a tuple that may have been computed.
std::vector<Expr> fields_of(const Expr& tuple, size_t count) {
  std::vector<Expr> out;
  auto* known = tuple.as<relay::Tuple>();
  for (size_t i = 0; i < count; ++i)
    out.push_back(known ? known->fields_[i] : relay::make_get_item(tuple, static_cast<int>(i)));
  return out;
}

Expr plain_concatenate(const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                       const relay::GraphEnvironment& environment) {
  const Array<Type>& parts = types[0].as<TupleType>()->fields_;
  auto data = fields_of(args[0], parts.size()), scales = fields_of(args[1], parts.size());
  auto zeros = fields_of(args[2], parts.size());
  const AffineArgs to = affine_at(args, types, 3);
  Array<Expr> out;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto same = [](const Expr& a, const Expr& b) { return number_of(a) && number_of(a) == number_of(b); };
    if (same(scales[i], to.scale) && same(zeros[i], to.zero)) {
      out.push_back(data[i]);
      continue;
    }
    const AffineArgs from{scales[i], zeros[i], types[1].as<TupleType>()->fields_[i],
                          types[2].as<TupleType>()->fields_[i]};
    out.push_back(narrowed(requantized(data[i], parts[i], {from, to}, environment), tensor_of(parts[i])->dtype));
  }
  return relay::call_op("concatenate", {relay::make_tuple(out)}, attrs);
}

// ---- one operand ----------------------------------------------------------------------------------------------------

/// (data, scale and zero point, those of the result)
bool unary_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !check_affine(query, 1, 2, {}, -1) || !check_affine(query, 3, 4, {}, -1)) return false;
  query.result(query.type(0));
  return true;
}

Expr hard_swish(const Expr& x) {
  auto number = [](double value) { return relay::make_scalar(value, kFloat32); };
  return relay::divide(relay::multiply(x, relay::clip(relay::add(x, number(3)), 0, 6)), number(6));
}

/// Below zero alpha times as much; alpha is a fixed-point number. The zero point of the result is alpha times too small then.
Expr plain_leaky_relu(const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
                      const relay::GraphEnvironment& environment) {
  const double alpha = given.as<relay::LeakyReluAttrs>()->alpha;
  AffineArgs from = affine_at(args, types, 1), to = affine_at(args, types, 3);
  auto number = [](double value) { return relay::make_scalar(value, kFloat32); };
  Expr scaled = requantized(args[0], types[0], {from, to}, environment);
  Expr zero = relay::cast(to.zero, kFloat32);
  Expr below = relay::add(relay::multiply(relay::subtract(relay::cast(scaled, kFloat32), zero), number(alpha)), zero);
  below = relay::cast(relay::call_op("round", {below}), kInt32);
  Expr is_below = relay::less(relay::cast(args[0], kInt32), relay::cast(from.zero, kInt32));
  return narrowed(relay::where(is_below, below, scaled), dtype_at(types, 0));
}

OpRecord record(const char* name, const char* doc, std::initializer_list<const char*> inputs) {
  OpRecord out(name);
  out.doc(doc).support_level(11);
  for (const char* input : inputs) out.input(input, "integers, or a scale or zero point of them");
  return out;
}

void binary_record(const char* name, const char* doc, Canonicalize rule) {
  record(
      name, doc,
      {"lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"})
      .attrs<BroadcastAttrs>()
      .type("QnnBroadcast", binary_type)
      .set(kCanonicalize, canonicalization(name, rule));
}

void unary_record(const char* name, const char* doc, const std::function<Expr(const Expr&)>& function) {
  auto plain = [function](const Attrs&, const Array<Expr>& args, const Array<Type>& types,
                          const relay::GraphEnvironment&) {
    const size_t rank = tensor_of(types[0])->shape.size();
    Expr out = function(real_of(args[0], affine_at(args, types, 1), -1, rank));
    return integers_of(out, affine_at(args, types, 3), -1, rank, dtype_at(types, 0), false);
  };
  record(name, doc, {"data", "scale", "zero_point", "output_scale", "output_zero_point"})
      .type("QnnUnary", unary_type)
      .set(kCanonicalize, canonicalization(name, plain));
}

}  // namespace

static void quantized_elementwise_records() {
  binary_record("qnn.add", "The sum of what integers stand for.", plain_sum<true>);
  binary_record("qnn.subtract", "The difference of what integers stand for.", plain_sum<false>);
  binary_record("qnn.mul", "The product of what integers stand for.", plain_product);
  record("qnn.concatenate", "Parts side by side, each with a scale and zero point of its own.",
         {"data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"})
      .attrs<relay::ConcatenateAttrs>()
      .type("QnnConcatenate", concatenate_type)
      .set(kCanonicalize, canonicalization("qnn.concatenate", plain_concatenate));
  record("qnn.leaky_relu", "What integers stand for where it is positive, and alpha times that elsewhere.",
         {"data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"})
      .attrs<relay::LeakyReluAttrs>()
      .type("QnnLeakyRelu", unary_type)
      .set(kCanonicalize, canonicalization("qnn.leaky_relu", plain_leaky_relu));
  const std::pair<const char*, const char*> functions[] = {
      {"abs", "The absolute value."},    {"erf", "The error function."},         {"exp", "e to the power of it."},
      {"log", "The natural logarithm."}, {"rsqrt", "One over the square root."}, {"sigmoid", "1 / (1 + exp(-x))."},
      {"sqrt", "The square root."},      {"tanh", "The hyperbolic tangent."},
  };
  for (const auto& [name, doc] : functions)
    unary_record(("qnn." + std::string(name)).c_str(), doc,
                 [op = std::string(name)](const Expr& x) { return relay::call_op(op, {x}); });
  unary_record("qnn.hardswish", "x * clip(x + 3, 0, 6) / 6.", hard_swish);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily quantized_elementwise_family{quantized_elementwise_records};

}  // namespace tessera::op
