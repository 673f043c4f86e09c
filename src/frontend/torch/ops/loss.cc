// Losses.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

enum : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Expr reduced_loss(const Operation& in, const Expr& loss) {
  const int64_t how = in.integer("reduction", kMean);
  return how == kNone ? loss : how == kMean ? mean(loss) : sum(loss);
}

/// Of log-probabilities (batch, classes, ...); targets of the ignored class count for nothing.
Expr likelihood_loss(const Operation& in, Expr data, Expr target) {
  const bool is_single = in.rank(data) == 1;
  if (is_single) data = expand_dims(data, 0), target = expand_dims(target, 0);
  const int64_t how = in.integer("reduction", kMean);
  std::vector<Expr> inputs{data, target};
  if (in.has("weight")) inputs.push_back(in["weight"]);
  Expr out = onnx::apply(in, "NegativeLogLikelihoodLoss", inputs,
                         {{"reduction", how == kNone   ? "none"
                                        : how == kMean ? "mean"
                                                       : "sum"},
                          {"ignore_index", in.integer("ignore_index", -100)}});
  return is_single && how == kNone ? squeeze(out, int_array({0})) : out;
}

/// The loss, and the sum of weights, which nobody uses.
Values nll_loss_of(Operation& in) {
  Expr out = likelihood_loss(in, in[0], in["target"]);
  if (in.node().results.size() < 2) return {out};
  return {out, make_scalar(0, in.dtype(in[0]))};
}

Values cross_entropy_of(Operation& in) {
  Expr x = in[0], target = in["target"];
  const size_t rank = in.rank(x);
  const int axis = rank == 1 ? 0 : 1;
  const double smoothing = in.number("label_smoothing", 0);
  Expr logs = onnx::apply(in, "LogSoftmax", {x}, {{"axis", axis}});
  const DataType dtype = in.dtype(x);
  if (is_float(in.dtype(target))) {  // probabilities
    if (in.has("weight")) in.unsupported("class weights with targets that are probabilities");
    if (smoothing > 0) {
      const int64_t classes = in.static_extent(x, axis, "label smoothing");
      target =
          add(multiply(target, make_scalar(1 - smoothing, dtype)), make_scalar(smoothing / double(classes), dtype));
    }
    Expr loss = negative(sum(multiply(logs, target), int_array({axis})));
    return {reduced_loss(in, loss)};
  }
  Expr loss = likelihood_loss(in, logs, target);
  if (smoothing == 0) return {loss};
  if (in.has("weight")) in.unsupported("class weights with label smoothing");
  const int64_t ignored = in.integer("ignore_index", -100);
  Expr counts = as_type(in, call_op("not_equal", {target, make_scalar(double(ignored), in.dtype(target))}), dtype);
  Expr even = multiply(negative(mean(logs, int_array({axis}))), counts);
  const int64_t how = in.integer("reduction", kMean);
  if (how == kMean) even = divide(sum(even), sum(counts));
  if (how == kSum) even = sum(even);
  return {add(multiply(loss, make_scalar(1 - smoothing, dtype)), multiply(even, make_scalar(smoothing, dtype)))};
}

Values absolute_loss(Operation& in) { return {reduced_loss(in, call_op("abs", {subtract(in[0], in[1])}))}; }
Values squared_loss(Operation& in) {
  Expr apart = subtract(in[0], in[1]);
  return {reduced_loss(in, multiply(apart, apart))};
}
/// Squares near zero, the absolute value beyond `delta`.
Values smooth_loss(Operation& in) {
  const bool is_huber = in.name() == "huber_loss";
  Expr apart = call_op("abs", {subtract(in[0], in[1])});
  const DataType dtype = in.dtype(apart);
  const double delta = is_huber ? in.number("delta", 1) : in.number("beta", 1);
  if (delta == 0) return {reduced_loss(in, apart)};
  auto number = [&](double value) { return make_scalar(value, dtype); };
  Expr near = multiply(multiply(apart, apart), number(is_huber ? 0.5 : 0.5 / delta));
  Expr far = subtract(apart, number(delta / 2));
  if (is_huber) far = multiply(far, number(delta));
  return {reduced_loss(in, where(less(apart, number(delta)), near, far))};
}
Values binary_entropy(Operation& in) {
  Expr x = in[0], target = in["target"], one = make_scalar(1, in.dtype(x)), least = make_scalar(-100, in.dtype(x));
  Expr loss;
  if (in.name() == "binary_cross_entropy_with_logits") {
    Expr soft = onnx::apply(in, "Softplus", {negative(x)});
    Expr factor = one;
    if (in.has("pos_weight")) factor = add(one, multiply(subtract(in["pos_weight"], one), target));
    loss = add(multiply(subtract(one, target), x), multiply(factor, soft));
  } else {
    Expr yes = maximum(log(x), least), no = maximum(log(subtract(one, x)), least);
    loss = negative(add(multiply(target, yes), multiply(subtract(one, target), no)));
  }
  if (in.has("weight")) loss = multiply(loss, in["weight"]);
  return {reduced_loss(in, loss)};
}
Values divergence(Operation& in) {
  Expr x = in[0], target = in["target"], loss;
  if (in.flag("log_target", false)) {
    loss = multiply(exp(target), subtract(target, x));
  } else {
    Expr zero = make_scalar(0, in.dtype(target)), is_set = greater(target, zero);
    Expr safe = where(is_set, target, make_scalar(1, in.dtype(target)));
    loss = subtract(where(is_set, multiply(target, log(safe)), zero), multiply(target, x));
  }
  return {reduced_loss(in, loss)};
}

}  // namespace

Rows loss_rows() {
  return {
      {"aten::binary_cross_entropy", binary_entropy},
      {"aten::binary_cross_entropy_with_logits", binary_entropy},
      {"aten::cross_entropy_loss", cross_entropy_of},
      {"aten::huber_loss", smooth_loss},
      {"aten::kl_div", divergence},
      {"aten::l1_loss", absolute_loss},
      {"aten::mse_loss", squared_loss},
      {"aten::nll_loss", nll_loss_of},
      {"aten::nll_loss2d", nll_loss_of},
      {"aten::nll_loss2d_forward", nll_loss_of},
      {"aten::nll_loss_forward", nll_loss_of},
      {"aten::nll_loss_nd", nll_loss_of},
      {"aten::smooth_l1_loss", smooth_loss},
  };
}

}  // namespace tessera::torch
