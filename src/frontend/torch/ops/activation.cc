// Activations and softmax.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <limits>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr same_type(const Operation& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

Values relu_of(Operation& in) {
  const Value& x = in.value(0);
  Value out(onnx::apply(in, "Relu", {in[0]}));
  if (x.quantized) {  // zero stands for 0
    out = Value(maximum(in[0], cast_if_needed(in, x.quantized->zero, in.dtype(in[0]))));
    out.quantized = x.quantized;
  }
  return {out};
}
Values relu6_of(Operation& in) {
  Expr x = in[0];
  if (is_float(in.dtype(x))) return {clip(x, 0, 6)};
  return {minimum(maximum(x, same_type(in, x, 0)), same_type(in, x, 6))};
}
Values hardtanh_of(Operation& in) {
  const double low = in.number("min_val", -1), high = in.number("max_val", 1);
  if (is_float(in.dtype(in[0]))) return {clip(in[0], low, high)};
  return {minimum(maximum(in[0], same_type(in, in[0], low)), same_type(in, in[0], high))};
}
Values elu_of_torch(Operation& in) {
  const double alpha = in.number("alpha", 1), scale = in.number("scale", 1), inner = in.number("input_scale", 1);
  Expr x = in[0], zero = same_type(in, x, 0), one = same_type(in, x, 1);
  Expr low = multiply(subtract(exp(multiply(minimum(x, zero), same_type(in, x, inner))), one), same_type(in, x, alpha));
  Expr out = add(maximum(x, zero), low);
  return {scale == 1 ? out : multiply(out, same_type(in, x, scale))};
}
Values leaky_relu_of(Operation& in) {
  const double slope = in.number("negative_slope", 0.01);
  if (!is_float(in.dtype(in[0]))) in.unsupported("integers");
  return {call_op("nn.leaky_relu", {in[0]}, make_attrs<LeakyReluAttrs>([&](auto& attrs) { attrs.alpha = slope; }))};
}
Values prelu_of(Operation& in) {
  Expr x = in[0], slope = in["weight"];
  const size_t rank = in.rank(x);
  if (in.rank(slope) == 1 && rank > 2) slope = expand_dims(slope, 1, static_cast<int>(rank) - 2);
  return {where(less(x, same_type(in, x, 0)), multiply(x, slope), x)};
}
Values gelu_of(Operation& in) {
  return {onnx::apply(in, "Gelu", {in[0]}, {{"approximate", in.text("approximate", "none")}})};
}
Values silu_of(Operation& in) { return {multiply(in[0], sigmoid(in[0]))}; }
Values mish_of(Operation& in) { return {onnx::apply(in, "Mish", {in[0]})}; }
Values softsign_of(Operation& in) { return {onnx::apply(in, "Softsign", {in[0]})}; }

/// Beyond the threshold it is the data itself.
Values softplus_of_torch(Operation& in) {
  const double beta = in.number("beta", 1), threshold = in.number("threshold", 20);
  Expr x = in[0], scaled = beta == 1 ? x : multiply(x, same_type(in, x, beta));
  Expr soft = onnx::apply(in, "Softplus", {scaled});
  if (beta != 1) soft = divide(soft, same_type(in, x, beta));
  return {where(greater(scaled, same_type(in, x, threshold)), x, soft)};
}
Values log_sigmoid_of(Operation& in) { return {negative(onnx::apply(in, "Softplus", {negative(in[0])}))}; }
Values glu_of(Operation& in) {
  Expr halves = split(in[0], 2, in.axis_of(in.integer("dim", -1), in.rank(in[0])));
  return {multiply(make_get_item(halves, 0), sigmoid(make_get_item(halves, 1)))};
}
Values hardsigmoid_of(Operation& in) {
  Expr x = in[0];
  return {clip(divide(add(x, same_type(in, x, 3)), same_type(in, x, 6)), 0, 1)};
}
Values hardswish_of(Operation& in) {
  Expr x = in[0];
  return {multiply(x, divide(clip(add(x, same_type(in, x, 3)), 0, 6), same_type(in, x, 6)))};
}
Values threshold_of(Operation& in) {
  Expr x = in[0];
  return {where(greater(x, same_type(in, x, in.number("threshold"))), x, same_type(in, x, in.number("value")))};
}
Values hardshrink_of(Operation& in) {
  Expr x = in[0], limit = same_type(in, x, in.number("lambd", 0.5));
  return {where(greater(call_op("abs", {x}), limit), x, same_type(in, x, 0))};
}
Values softshrink_of(Operation& in) {
  return {onnx::apply(in, "Shrink", {in[0]}, {{"lambd", in.number("lambd", 0.5)}, {"bias", in.number("lambd", 0.5)}})};
}

Converter softmax_like(const char* op) {
  return [op](Operation& in) {
    Expr x = in[0];
    if (std::optional<DataType> dtype = in.dtype_given()) x = as_type(in, x, *dtype);
    if (in.integer("half_to_float", 0)) x = as_type(in, x, DataType::Float(32));
    x = as_float(in, x);
    if (in.rank(x) == 0) {
      Expr line = expand_dims(x, 0);
      return Values{reshape(onnx::apply(in, op, {line}, {{"axis", 0}}), Array<PrimExpr>())};
    }
    const int axis = in.axis_of(in.integer("dim", -1), in.rank(x));
    return Values{onnx::apply(in, op, {x}, {{"axis", axis}})};
  };
}

/// What trains only: the data itself.
Values unchanged(Operation& in) {
  if (in.has("train") && in.flag("train", false) && in.number("p", 0) > 0)
    in.unsupported("dropout in training mode; call model.eval() first");
  return {in.value(0)};
}

}  // namespace

Rows activation_rows() {
  return {
      {"aten::_log_softmax", softmax_like("LogSoftmax")},
      {"aten::_softmax", softmax_like("Softmax")},
      {"aten::alpha_dropout", unchanged},
      {"aten::celu",
       [](Operation& in) -> Values {
         const double alpha = in.number("alpha", 1);
         return {onnx::apply(in, "Celu", {in[0]}, {{"alpha", alpha}})};
       }},
      {"aten::dropout", unchanged},
      {"aten::elu", elu_of_torch},
      {"aten::feature_alpha_dropout", unchanged},
      {"aten::feature_dropout", unchanged},
      {"aten::gelu", gelu_of},
      {"aten::glu", glu_of},
      {"aten::hardshrink", hardshrink_of},
      {"aten::hardsigmoid", hardsigmoid_of},
      {"aten::hardswish", hardswish_of},
      {"aten::hardtanh", hardtanh_of},
      {"aten::leaky_relu", leaky_relu_of},
      {"aten::log_sigmoid", log_sigmoid_of},
      {"aten::log_softmax", softmax_like("LogSoftmax")},
      {"aten::mish", mish_of},
      {"aten::prelu", prelu_of},
      {"aten::relu", relu_of},
      {"aten::relu6", relu6_of},
      {"aten::selu", [](Operation& in) -> Values { return {onnx::apply(in, "Selu", {in[0]})}; }},
      {"aten::silu", silu_of},
      {"aten::softmax", softmax_like("Softmax")},
      {"aten::softplus", softplus_of_torch},
      {"aten::softshrink", softshrink_of},
      {"aten::softsign", softsign_of},
      {"aten::threshold", threshold_of},
  };
}

}  // namespace tessera::torch
