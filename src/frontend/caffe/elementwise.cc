// Activations, arithmetic, norms: what looks at elements or channels.

#include <cmath>

#include "frontend/caffe/caffe.h"
#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::caffe {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr number_like(const LayerNode& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

Exprs identity(LayerNode& in) { return Exprs(std::max<size_t>(in.num_outputs(), 1), in[0]); }
Exprs silence(LayerNode&) { return {}; }
Exprs absolute(LayerNode& in) { return {call_op("abs", {in[0]})}; }
Exprs logistic(LayerNode& in) { return {sigmoid(in[0])}; }
Exprs hyperbolic_tangent(LayerNode& in) { return {tanh(in[0])}; }
Exprs soft_plus(LayerNode& in) { return {apply(in, "Softplus", {in[0]})}; }
Exprs elu(LayerNode& in) { return {apply(in, "Elu", {in[0]}, {{"alpha", in.number("alpha", 1)}})}; }
Exprs softmax(LayerNode& in) { return {softmax_of(in[0], in.axis(in.integer("axis", 1), in.rank(in[0])))}; }

Exprs relu(LayerNode& in) {
  const double slope = in.number("negative_slope", 0);
  return {slope == 0 ? call_op("nn.relu", {in[0]}) : apply(in, "LeakyRelu", {in[0]}, {{"alpha", slope}})};
}

/// A parameter whose dimensions begin at `axis` of data of this rank.
Expr beginning_at(const LayerNode& in, const Expr& parameter, int axis, size_t rank) {
  const int missing = static_cast<int>(rank) - axis - static_cast<int>(in.rank(parameter));
  if (missing < 0) in.invalid("a weight has more dimensions than the data from the axis on");
  return missing ? expand_dims(parameter, static_cast<int>(in.rank(parameter)), missing) : parameter;
}

Exprs prelu(LayerNode& in) {
  Expr slopes = in.weight(0);
  if (!in.flag("channel_shared")) slopes = beginning_at(in, reshape_to(slopes, {-1}), 1, in.rank(in[0]));
  Expr zero = number_like(in, in[0], 0);
  return {add(maximum(in[0], zero), multiply(slopes, minimum(in[0], zero)))};
}

Expr shifted(const LayerNode& in) {
  const double scale = in.number("scale", 1), shift = in.number("shift", 0);
  Expr out = scale == 1 ? in[0] : multiply(in[0], number_like(in, in[0], scale));
  return shift == 0 ? out : add(out, number_like(in, in[0], shift));
}
Exprs power_layer(LayerNode& in) {
  const double exponent = in.number("power", 1);
  Expr out = shifted(in);
  if (exponent == 1) return {out};
  if (exponent == 2) return {multiply(out, out)};
  return {power(out, number_like(in, in[0], exponent))};
}
/// The logarithm of the base of Exp and Log; -1 stands for e.
double log_of_base(const LayerNode& in) {
  const double base = in.number("base", -1);
  if (base != -1 && !(base > 0)) in.invalid("the base must be above zero");
  return base == -1 ? 1 : std::log(base);
}
Exprs exponential(LayerNode& in) { return {exp(multiply(shifted(in), number_like(in, in[0], log_of_base(in))))}; }
Exprs logarithm(LayerNode& in) { return {multiply(log(shifted(in)), number_like(in, in[0], 1 / log_of_base(in)))}; }
Exprs threshold(LayerNode& in) {
  return {cast(greater(in[0], number_like(in, in[0], in.number("threshold", 0))), in.dtype(in[0]))};
}

Exprs eltwise(LayerNode& in) {
  const std::string operation = in.text("operation", "SUM");
  const std::vector<double> coefficients = in.fields().numbers("coeff");
  if (!coefficients.empty() && (operation != "SUM" || coefficients.size() != in.size()))
    in.invalid("coeff needs a number for each input of a sum");
  auto term = [&](size_t i) {
    const bool is_plain = coefficients.empty() || coefficients[i] == 1;
    return is_plain ? in[i] : multiply(in[i], number_like(in, in[i], coefficients[i]));
  };
  Expr out = term(0);
  for (size_t i = 1; i < in.size(); ++i)
    out = operation == "SUM" ? add(out, term(i)) : operation == "PROD" ? multiply(out, term(i)) : maximum(out, term(i));
  return {out};
}

/// What Scale and Bias work with: their second input, or a weight of `num_axes` dimensions from the axis on.
Expr operand(const LayerNode& in, size_t weight) {
  const size_t rank = in.rank(in[0]);
  Expr given = in.has(1) ? in[1] : in.weight(weight);
  if (in.rank(given) == 0 || in.integer("num_axes", 1) == 0) return reshape_to(given, {});
  return beginning_at(in, given, in.axis(in.integer("axis", 1), rank), rank);
}
Exprs scale_layer(LayerNode& in) {
  Expr out = multiply(in[0], operand(in, 0));
  if (!in.flag("bias_term")) return {out};
  const size_t rank = in.rank(in[0]);
  Expr bias = in.weight(in.has(1) ? 0 : 1);
  return {add(out, in.rank(bias) == 0 ? bias : beginning_at(in, bias, in.axis(in.integer("axis", 1), rank), rank))};
}
Exprs bias_layer(LayerNode& in) { return {add(in[0], operand(in, 0))}; }

// ---- norms ----------------------------------------------------------------------------------------------------------

/// Without the mean over `axes`, and divided by the deviation that `deviation` makes of the variance.
template <class F>
Expr centered(const Expr& x, const std::vector<int64_t>& axes, F&& deviation) {
  Expr from_mean = subtract(x, mean(x, int_array(axes), true));
  return divide(from_mean, deviation(mean(multiply(from_mean, from_mean), int_array(axes), true)));
}

std::vector<int64_t> axes_but(size_t rank, std::initializer_list<size_t> kept) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < rank; ++i)
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) out.push_back(static_cast<int64_t>(i));
  return out;
}

Exprs batch_norm(LayerNode& in) {
  const double epsilon = in.number("eps", 1e-5);
  if (!in.flag("use_global_stats", true)) {
    Expr small = number_like(in, in[0], epsilon);
    return {centered(in[0], axes_but(in.rank(in[0]), {1}), [&](Expr variance) { return sqrt(add(variance, small)); })};
  }
  Expr mean = in.weight(0), variance = in.weight(1), one = ones_like(mean), zero = zeros_like(mean);
  if (in.flag("scale_bias")) one = in.weight(2), zero = in.weight(3);
  for (Expr* parameter : {&one, &zero, &mean, &variance}) *parameter = typed(*parameter);
  return {apply(in, "BatchNormalization", {in[0], one, zero, mean, variance}, {{"epsilon", epsilon}})};
}

Exprs mean_variance_norm(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  const std::vector<int64_t> axes = in.flag("across_channels") ? axes_but(rank, {0}) : axes_but(rank, {0, 1});
  if (!in.flag("normalize_variance", true)) return {subtract(in[0], mean(in[0], int_array(axes), true))};
  Expr small = number_like(in, in[0], in.number("eps", 1e-9));
  return {centered(in[0], axes, [&](Expr variance) { return add(sqrt(variance), small); })};
}

Exprs local_response_norm(LayerNode& in) {
  const int64_t size = in.integer("local_size", 5);
  const double alpha = in.number("alpha", 1), beta = in.number("beta", 0.75), k = in.number("k", 1);
  if (size < 1 || size % 2 == 0 || size > 1 << 20) in.invalid("local_size must be odd");
  if (in.text("norm_region", "ACROSS_CHANNELS") == "ACROSS_CHANNELS")
    return {call_op("nn.lrn", {in[0]}, make_attrs<LRNAttrs>([&](auto& to) {
                      to.size = static_cast<int32_t>(size);
                      to.axis = 1;
                      to.bias = k, to.alpha = alpha, to.beta = beta;
                    }))};
  const int64_t half = size / 2;
  Expr squares = typed(multiply(in[0], in[0]));
  const PoolWindows windows = pool_windows(in, {size, size}, {1, 1}, {1, 1}, {half, half, half, half}, false, {});
  Expr sums = add(multiply(average_pool(squares, windows, true), number_like(in, in[0], alpha)),
                  number_like(in, in[0], 1));  // k is of the other region only
  return {multiply(in[0], power(sums, number_like(in, in[0], -beta)))};
}

}  // namespace

LayerRows elementwise_rows() {
  return {
      {"AbsVal", absolute},         {"BNLL", soft_plus},  {"BatchNorm", batch_norm},   {"Bias", bias_layer},
      {"Dropout", identity},        {"ELU", elu},         {"Eltwise", eltwise},        {"Exp", exponential},
      {"LRN", local_response_norm}, {"Log", logarithm},   {"MVN", mean_variance_norm}, {"PReLU", prelu},
      {"Power", power_layer},       {"ReLU", relu},       {"Scale", scale_layer},      {"Sigmoid", logistic},
      {"Silence", silence},         {"Softmax", softmax}, {"Split", identity},         {"TanH", hyperbolic_tangent},
      {"Threshold", threshold},
  };
}

}  // namespace tessera::caffe
