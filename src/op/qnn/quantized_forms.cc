#include "op/qnn/quantized_forms.h"

#include "base/dtypes.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/qnn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "tir/layout.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::Expr;
using relay::TensorAffineTypeNode;

using Answer = Array<ObjectRef>;

const TensorAffineTypeNode* tensor_type_of(const Expr& expr, const AffineTypes& types) {
  return types.get_or_null(expr).as<TensorAffineTypeNode>();
}

/// The product of two scales, computed where both are numbers.
Expr scale_product(const Expr& a, const Expr& b) {
  auto x = relay::scalar_value(a), y = relay::scalar_value(b);
  return x && y ? relay::make_scalar(*x * *y, DataType::Float(32)) : relay::multiply(a, b);
}

Answer contraction(const char* op, const Call* call, const AffineTypes& types, int axis) {
  auto *a = tensor_type_of(call->args[0], types), *b = tensor_type_of(call->args[1], types);
  if (!a || !b) return {};
  Expr out = relay::call_op(op, {call->args[0], call->args[1], a->zero_point, b->zero_point, a->scale, b->scale},
                            relay::with_out_dtype(call->attrs, kInt32));
  return {out, relay::make_affine_type(scale_product(a->scale, b->scale), relay::make_scalar(0, kInt32), kInt32, axis)};
}

}  // namespace

Answer quantized_moves(const Expr& call, const AffineTypes& types) {
  const Expr& data = call.as<Call>()->args[0];
  auto* type = tensor_type_of(data, types);
  if (!type || !relay::scalar_value(type->scale)) return {};  // an axis of scales may be anywhere afterwards
  return {call, relay::AffineType(type)};
}

Answer quantized_relu(const Expr& call, const AffineTypes& types) {
  const Expr& data = call.as<Call>()->args[0];
  auto* type = tensor_type_of(data, types);
  auto zero = type ? relay::scalar_value(type->zero_point) : std::nullopt;
  if (!zero) return {};
  return {relay::maximum(data, relay::make_scalar(*zero, type->dtype)), relay::AffineType(type)};
}

Answer quantized_conv2d(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  auto* attrs = call->attrs_as<relay::Conv2DAttrs>();
  const String& layout = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  return contraction("qnn.conv2d", call, types, make_layout(layout)->index_of('C'));
}

Answer quantized_dense(const Expr& call, const AffineTypes& types) {
  return contraction("qnn.dense", call.as<Call>(), types, 1);
}

Answer quantized_batch_matmul(const Expr& expr, const AffineTypes& types) {
  auto* call = expr.as<Call>();
  if (!call->attrs_as<relay::BatchMatmulAttrs>()->transpose_b) return {};
  return contraction("qnn.batch_matmul", call, types, 1);
}

relay::QuantizedForm quantized_binary(std::string_view integer_op) {
  return [integer_op](const Expr& expr, const AffineTypes& types) -> Answer {
    auto* call = expr.as<Call>();
    auto *a = tensor_type_of(call->args[0], types), *b = tensor_type_of(call->args[1], types);
    auto* wanted = tensor_type_of(expr, types);
    if (!a || !b || !wanted || a->dtype != wanted->dtype || b->dtype != wanted->dtype) return {};
    Expr out = relay::call_op(integer_op,
                              {call->args[0], call->args[1], a->scale, a->zero_point, b->scale, b->zero_point,
                               wanted->scale, wanted->zero_point},
                              relay::make_attrs<relay::BroadcastAttrs>([&](auto& attrs) {
                                attrs.lhs_axis = a->axis;
                                attrs.rhs_axis = b->axis;
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

}  // namespace tessera::op
