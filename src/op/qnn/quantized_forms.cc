#include "op/qnn/quantized_forms.h"

#include <algorithm>
#include <cmath>

#include "base/dtypes.h"
#include "op/qnn/affine.h"
#include "op/records.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/qnn.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/type_of.h"
#include "tir/layout.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::Expr;
using relay::make_affine_type;
using relay::make_attrs;
using relay::make_scalar;
using relay::scalar_value;
using relay::TensorAffineTypeNode;

using Answer = Array<ObjectRef>;

const TensorAffineTypeNode* tensor_type_of(const Expr& expr, const AffineTypes& types) {
  return types.get_or_null(expr).as<TensorAffineTypeNode>();
}
const TensorAffineTypeNode* first_type(const Expr& call, const AffineTypes& types) {
  return tensor_type_of(call.as<Call>()->args[0], types);
}
bool has_one_scale(const TensorAffineTypeNode* type) {
  return type && scalar_value(type->scale) && scalar_value(type->zero_point);
}

Expr folded(const Expr& expr) { return relay::fold_constant(relay::typed(expr)); }

/// The product of two scales, computed where both are constants.
Expr scale_product(const Expr& a, const Expr& b) {
  auto x = scalar_value(a), y = scalar_value(b);
  return x && y ? make_scalar(*x * *y, DataType::Float(32)) : folded(relay::multiply(a, b));
}

/// Zeros for a scale, as many as it has elements.
Expr zeros_for(const Expr& scale) {
  if (scalar_value(scale)) return make_scalar(0, kInt32);
  return folded(relay::cast(relay::zeros_like(scale), kInt32));
}

/// Integers of one type as those of another.
Expr requantize(const Expr& x, const TensorAffineTypeNode* from, const TensorAffineTypeNode* to, DataType dtype) {
  if (relay::same_affine_type(from, to) && from->dtype == dtype) return x;
  return call_op("qnn.requantize", {x, from->scale, from->zero_point, to->scale, to->zero_point},
                 make_attrs<relay::RequantizeAttrs>([&](auto& a) {
                   a.axis = from->axis;
                   a.out_dtype = dtype;
                 }));
}
Expr requantize(const Expr& x, const TensorAffineTypeNode* from, const TensorAffineTypeNode* to) {
  return requantize(x, from, to, to->dtype);
}

Expr quantize(const Expr& x, const TensorAffineTypeNode* to, int axis) {
  return call_op("qnn.quantize", {x, to->scale, to->zero_point}, make_attrs<relay::QuantizeAttrs>([&](auto& a) {
                   a.out_dtype = to->dtype;
                   a.axis = axis;
                 }));
}

/// A constant of floats in integers whose range is that of its elements and 0.
std::pair<Expr, relay::AffineType> quantized_constant(const Expr& expr, DataType dtype) {
  auto* constant = expr.as<relay::Constant>();
  if (!constant || constant->data.dtype() != kFloat32 || constant->data.size() == 0) return {};
  const float* values = constant->data.data<float>();
  double low = 0, high = 0;
  for (int64_t i = 0, n = constant->data.size(); i < n; ++i) {
    low = std::min<double>(low, values[i]);
    high = std::max<double>(high, values[i]);
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return {};
  const IntegerRange range = integer_range(dtype);
  const double scale = low == high ? 1 : (high - low) / (range.high - range.low);
  const double zero = std::clamp(std::round(range.low - low / scale), range.low, range.high);
  relay::AffineType type = make_affine_type(make_scalar(scale, kFloat32), make_scalar(zero, kInt32), dtype, -1);
  return {quantize(expr, type.as<TensorAffineTypeNode>(), -1), type};
}

Answer contraction(const char* op, const Call* call, const AffineTypes& types, int axis) {
  auto *a = tensor_type_of(call->args[0], types), *b = tensor_type_of(call->args[1], types);
  if (!a || !b) return {};
  Expr out = call_op(op, {call->args[0], call->args[1], a->zero_point, b->zero_point, a->scale, b->scale},
                     relay::with_out_dtype(call->attrs, kInt32));
  Expr scale = scale_product(a->scale, b->scale);
  return {out, make_affine_type(scale, zeros_for(scale), kInt32, axis)};
}

template <class A>
int channel_axis(const Call* call) {
  auto* attrs = call->attrs_as<A>();
  return make_layout(attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout)->index_of('C');
}

/// A vector along an axis as it meets a tensor of `rank` dimensions.
Expr along(const Expr& vector, int axis, size_t rank) {
  const int behind = static_cast<int>(rank) - 1 - (axis < 0 ? axis + static_cast<int>(rank) : axis);
  return scalar_value(vector) || behind == 0 ? vector : folded(relay::expand_dims(vector, 1, behind));
}

/// The integer that a number is nearest to.
double nearest(double value, const TensorAffineTypeNode* type) {
  const IntegerRange range = integer_range(type->dtype);
  return std::clamp(std::round(value / *scalar_value(type->scale)) + *scalar_value(type->zero_point), range.low,
                    range.high);
}

// ---- one operand ----------------------------------------------------------------------------------------------------

Answer clipped(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  auto* type = first_type(expr, types);
  auto* attrs = call->attrs_as<relay::ClipAttrs>();
  if (!type) return {};
  if (has_one_scale(type))
    return {relay::clip(call->args[0], nearest(attrs->a_min, type), nearest(attrs->a_max, type)),
            relay::AffineType(type)};
  auto bound = [&](double value) {
    Expr all = relay::add(relay::multiply(type->scale, make_scalar(0, kFloat32)), make_scalar(value, kFloat32));
    return along(folded(quantize(folded(all), type, 0)), type->axis, relay::rank_of(call->args[0]));
  };
  return {relay::minimum(relay::maximum(call->args[0], bound(attrs->a_min)), bound(attrs->a_max)),
          relay::AffineType(type)};
}

Answer leaky_relu(const Expr& expr, const AffineTypes& types) {
  auto *type = first_type(expr, types), *wanted = tensor_type_of(expr, types);
  if (!has_one_scale(type)) return {};
  if (!wanted || wanted->dtype != type->dtype || !has_one_scale(wanted)) wanted = type;
  Expr out = call_op("qnn.leaky_relu",
                     {expr.as<Call>()->args[0], type->scale, type->zero_point, wanted->scale, wanted->zero_point},
                     expr.as<Call>()->attrs);
  return {out, relay::AffineType(wanted)};
}

/// A function of each element that has an operator of integers.
relay::QuantizedForm function_of_elements(std::string_view integer_op) {
  return [integer_op](const Expr& expr, const AffineTypes& types) -> Answer {
    auto *type = first_type(expr, types), *wanted = tensor_type_of(expr, types);
    if (!has_one_scale(type) || !has_one_scale(wanted) || type->dtype != wanted->dtype) return {};
    Expr out = call_op(integer_op,
                       {expr.as<Call>()->args[0], type->scale, type->zero_point, wanted->scale, wanted->zero_point});
    return {out, relay::AffineType(wanted)};
  };
}

/// Padding puts zeros among the elements of a window and counts them.
bool counts_padding(const Attrs& attrs) {
  auto* pool = cast_or_null<relay::AvgPoolAttrs>(attrs.get());
  if (!pool || !pool->count_include_pad) return false;
  return std::any_of(pool->padding.begin(), pool->padding.end(),
                     [](const PrimExpr& width) { return !as_int(width) || *as_int(width) != 0; });
}

/// Means of integers, which stand for what the integers stood for.
Answer averaged(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  auto* type = first_type(expr, types);
  if (!has_one_scale(type)) return {};
  Expr data = relay::cast(call->args[0], kInt32);
  const bool is_centred = counts_padding(call->attrs) && scalar_value(type->zero_point) != 0.0;
  if (is_centred) data = relay::subtract(data, type->zero_point);
  Expr out = relay::make_call(call->op, {data}, call->attrs);
  if (is_centred) out = relay::add(out, type->zero_point);
  return {relay::cast(out, type->dtype), relay::AffineType(type)};
}

Answer greatest(const Expr& expr, const AffineTypes& types) {
  if (expr.as<Call>()->attrs_as<relay::TopkAttrs>()->ret_type != "values") return {};  // an index is no such integer
  return quantized_moves(expr, types);
}

Answer parts(const Expr& expr, const AffineTypes& types) {
  auto* type = first_type(expr, types);
  auto* attrs = expr.as<Call>()->attrs_as<relay::SplitAttrs>();
  if (!has_one_scale(type)) return {};
  auto* sections = attrs->indices_or_sections.as<IntImm>();
  const size_t count = sections ? static_cast<size_t>(sections->value)
                                : downcast<Array<ObjectRef>>(attrs->indices_or_sections).size() + 1;
  return {expr, relay::make_tuple_affine_type(Array<relay::AffineType>(count, relay::AffineType(type)))};
}

// ---- two operands ---------------------------------------------------------------------------------------------------

/// Both operands as integers, also where one is a constant of floats.
struct Operands {
  Expr left, right;
  relay::AffineType left_type, right_type;
  const TensorAffineTypeNode *a = nullptr, *b = nullptr;

  Operands(const Call* call, const AffineTypes& types) : left(call->args[0]), right(call->args[1]) {
    left_type = types.get_or_null(left), right_type = types.get_or_null(right);
    if (!left_type && right_type.as<TensorAffineTypeNode>())
      std::tie(left, left_type) = quantized_constant(left, right_type.as<TensorAffineTypeNode>()->dtype);
    if (!right_type && left_type.as<TensorAffineTypeNode>())
      std::tie(right, right_type) = quantized_constant(right, left_type.as<TensorAffineTypeNode>()->dtype);
    a = left_type.as<TensorAffineTypeNode>(), b = right_type.as<TensorAffineTypeNode>();
  }
};

/// What moves no element past another: both operands with one scale, that of an operand where the other is a constant.
Answer extremum(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  Operands in(call, types);
  if (!in.a || !in.b) return {};
  auto* wanted = tensor_type_of(expr, types);
  if (!types.count(call->args[0])) wanted = in.b;
  else if (!types.count(call->args[1]) || relay::same_affine_type(in.a, in.b) || !wanted) wanted = in.a;
  if (!has_one_scale(wanted)) return {};
  return {relay::make_call(call->op, {requantize(in.left, in.a, wanted), requantize(in.right, in.b, wanted)}),
          relay::AffineType(wanted)};
}

Answer biased(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  auto *type = first_type(expr, types), *of_bias = tensor_type_of(call->args[1], types);
  if (!type) return {};
  // Of two zero points one must not count; sums of eight bits do not fit into eight.
  relay::AffineType centred = make_affine_type(type->scale, zeros_for(type->scale), kInt32, 0);
  auto* to = centred.as<TensorAffineTypeNode>();
  Expr bias = call->args[1];
  if (!of_bias) {
    if (!bias.as<relay::Constant>()) return {};
    bias = folded(quantize(bias, to, 0));
  } else if (!relay::same_affine_type(of_bias, to) || of_bias->dtype != kInt32) {
    relay::AffineType along_bias = make_affine_type(of_bias->scale, of_bias->zero_point, of_bias->dtype, 0);
    bias = requantize(bias, along_bias.as<TensorAffineTypeNode>(), to);
  }
  Expr data = type->dtype == kInt32 ? call->args[0] : relay::cast(call->args[0], kInt32);
  return {relay::make_call(call->op, {data, bias}, call->attrs),
          make_affine_type(type->scale, type->zero_point, kInt32, type->axis)};
}

Answer padded(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  auto *type = first_type(expr, types), *of_value = tensor_type_of(call->args[1], types);
  if (!has_one_scale(type)) return {};
  Expr value = of_value ? requantize(call->args[1], of_value, type) : Expr();
  if (!value) {
    auto number = scalar_value(call->args[1]);
    if (!number) return {};
    value = make_scalar(nearest(*number, type), type->dtype);
  }
  return {relay::make_call(call->op, {call->args[0], value}, call->attrs), relay::AffineType(type)};
}

}  // namespace

Answer quantized_moves(const Expr& call, const AffineTypes& types) {
  auto* type = first_type(call, types);
  if (!has_one_scale(type)) return {};  // an axis of scales may be anywhere afterwards
  return {call, relay::AffineType(type)};
}

Answer quantized_relu(const Expr& call, const AffineTypes& types) {
  const Expr& data = call.as<Call>()->args[0];
  auto* type = tensor_type_of(data, types);
  if (!type) return {};
  if (auto zero = scalar_value(type->zero_point))
    return {relay::maximum(data, make_scalar(*zero, type->dtype)), relay::AffineType(type)};
  Expr zero = folded(relay::cast(along(type->zero_point, type->axis, relay::rank_of(data)), type->dtype));
  return {relay::maximum(data, zero), relay::AffineType(type)};
}

Answer quantized_conv2d(const Expr& expr, const AffineTypes& types) {
  return contraction("qnn.conv2d", expr.as<Call>(), types, channel_axis<relay::Conv2DAttrs>(expr.as<Call>()));
}

Answer quantized_dense(const Expr& call, const AffineTypes& types) {
  return contraction("qnn.dense", call.as<Call>(), types, 1);
}

Answer quantized_batch_matmul(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  if (!call->attrs_as<relay::BatchMatmulAttrs>()->transpose_b) return {};
  auto* a = first_type(expr, types);
  return contraction("qnn.batch_matmul", call, types, a ? a->axis : -1);
}

relay::QuantizedForm quantized_binary(std::string_view integer_op) {
  return [integer_op](const Expr& expr, const AffineTypes& types) -> Answer {
    auto* call = expr.as<Call>();
    Operands in(call, types);
    if (!in.a || !in.b) return {};
    if (in.a->dtype == kInt32 && relay::same_affine_type(in.a, in.b) && in.b->dtype == kInt32 &&
        scalar_value(in.a->zero_point) == 0.0 && integer_op != "qnn.mul")
      return {relay::make_call(call->op, {in.left, in.right}), in.left_type};  // sums of partial results
    auto* wanted = tensor_type_of(expr, types);
    if (!wanted || !has_one_scale(wanted)) return {};
    if (in.a->dtype != wanted->dtype || in.b->dtype != wanted->dtype) {
      if (integer_op == "qnn.mul") return {};  // a factor need not fit the range of the product
      in.left = requantize(in.left, in.a, wanted);
      in.right = requantize(in.right, in.b, wanted);
      in.a = in.b = wanted;
    }
    Expr out = call_op(integer_op,
                       {in.left, in.right, in.a->scale, in.a->zero_point, in.b->scale, in.b->zero_point, wanted->scale,
                        wanted->zero_point},
                       make_attrs<relay::BroadcastAttrs>([&](auto& attrs) {
                         attrs.lhs_axis = in.a->axis;
                         attrs.rhs_axis = in.b->axis;
                       }));
    return {out, relay::AffineType(wanted)};
  };
}

Answer quantized_concatenate(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  auto* parts = types.get_or_null(call->args[0]).as<relay::TupleAffineTypeNode>();
  auto* wanted = tensor_type_of(expr, types);
  if (!parts || !wanted) return {};
  Array<Expr> scales, zeros;
  for (const ObjectRef& part : parts->types) {
    auto* type = part.as<TensorAffineTypeNode>();
    if (!type || type->dtype != wanted->dtype) return {};
    scales.push_back(type->scale);
    zeros.push_back(type->zero_point);
  }
  Expr out = relay::call_op(
      "qnn.concatenate",
      {call->args[0], relay::make_tuple(scales), relay::make_tuple(zeros), wanted->scale, wanted->zero_point},
      call->attrs);
  return {out, relay::AffineType(wanted)};
}

static void quantized_form_rows() {
  auto conv2d_transpose = [](const Expr& call, const AffineTypes& types) {
    return contraction("qnn.conv2d_transpose", call.as<Call>(), types,
                       channel_axis<relay::Conv2DTransposeAttrs>(call.as<Call>()));
  };
  const std::pair<const char*, relay::QuantizedForm> rows[] = {
      {"abs", function_of_elements("qnn.abs")},
      {"broadcast_to", quantized_moves},
      {"clip", clipped},
      {"erf", function_of_elements("qnn.erf")},
      {"exp", function_of_elements("qnn.exp")},
      {"hardswish", function_of_elements("qnn.hardswish")},
      {"image.resize2d", quantized_moves},
      {"log", function_of_elements("qnn.log")},
      {"max", quantized_moves},
      {"maximum", extremum},
      {"mean", averaged},
      {"min", quantized_moves},
      {"minimum", extremum},
      {"nn.adaptive_avg_pool1d", averaged},
      {"nn.adaptive_avg_pool2d", averaged},
      {"nn.adaptive_avg_pool3d", averaged},
      {"nn.adaptive_max_pool1d", quantized_moves},
      {"nn.adaptive_max_pool2d", quantized_moves},
      {"nn.adaptive_max_pool3d", quantized_moves},
      {"nn.avg_pool1d", averaged},
      {"nn.avg_pool2d", averaged},
      {"nn.avg_pool3d", averaged},
      {"nn.bias_add", biased},
      {"nn.conv2d_transpose", conv2d_transpose},
      {"nn.depth_to_space", quantized_moves},
      {"nn.global_avg_pool2d", averaged},
      {"nn.global_max_pool2d", quantized_moves},
      {"nn.leaky_relu", leaky_relu},
      {"nn.pad", padded},
      {"nn.space_to_depth", quantized_moves},
      {"nn.upsampling", quantized_moves},
      {"repeat", quantized_moves},
      {"reverse", quantized_moves},
      {"rsqrt", function_of_elements("qnn.rsqrt")},
      {"sigmoid", function_of_elements("qnn.sigmoid")},
      {"split", parts},
      {"sqrt", function_of_elements("qnn.sqrt")},
      {"strided_slice", quantized_moves},
      {"tanh", function_of_elements("qnn.tanh")},
      {"tile", quantized_moves},
      {"topk", greatest},
  };
  for (const auto& [name, rule] : rows)
    Op::get(name).set(relay::kQuantizedForm, Any(typed("quantized form", rule)), relay::kBuiltInLevel);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily quantized_form_family{quantized_form_rows,
                                                                              FillOrder::MoreSlots};

}  // namespace tessera::op
