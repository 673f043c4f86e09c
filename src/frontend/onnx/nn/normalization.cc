// Normalisations, softmax and losses over classes.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr number_like(Operation& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

std::vector<int64_t> axes_from(size_t first, size_t rank) {
  std::vector<int64_t> out;
  for (size_t i = first; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}

/// (channels) broadcast to the second of `rank` dimensions.
Expr per_channel(const Expr& x, size_t rank) { return rank > 2 ? expand_dims(x, 1, static_cast<int>(rank) - 2) : x; }

/// (x - mean) / sqrt(variance + epsilon) over the axes.
Expr standardized(Operation& in, const Expr& x, const Array<PrimExpr>& axes, double epsilon, Expr* mean_out = nullptr,
                  Expr* scale_out = nullptr) {
  Expr middle = mean(x, axes, true), centred = subtract(x, middle);
  Expr variance = mean(multiply(centred, centred), axes, true);
  Expr scale = divide(number_like(in, x, 1), sqrt(add(variance, number_like(in, x, epsilon))));
  if (mean_out) *mean_out = middle;
  if (scale_out) *scale_out = scale;
  return multiply(centred, scale);
}

Values batch_normalization(Operation& in) {
  bool trains =
      in.integer("training_mode", 0) != 0 || (in.version() < 7 && in.integer("is_test", 0) == 0 && in.wants(1));
  if (!trains) {
    Expr data = in[0];
    Expr out =
        call_op("nn.batch_norm", {data, in[1], in[2], in[3], in[4]}, make_attrs<BatchNormAttrs>([&](auto& attrs) {
                  attrs.axis = 1;
                  attrs.epsilon = in.number("epsilon", 1e-5);
                }));
    return {make_get_item(out, 0)};
  }
  if (in.version() < 14) in.unsupported("training mode before version 14");
  size_t rank = in.rank(in[0]);
  std::vector<int64_t> axes{0};
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  Expr x = in[0], middle = mean(x, int_array(axes)), centred = subtract(x, per_channel(middle, rank));
  Expr variance = mean(multiply(centred, centred), int_array(axes));
  double momentum = in.number("momentum", 0.9), epsilon = in.number("epsilon", 1e-5);
  Expr scale = divide(in[1], sqrt(add(variance, number_like(in, x, epsilon))));
  auto mixed = [&](const Expr& old, const Expr& now) {
    return add(multiply(old, number_like(in, old, momentum)), multiply(now, number_like(in, now, 1 - momentum)));
  };
  return {add(multiply(centred, per_channel(scale, rank)), per_channel(in[2], rank)), mixed(in[3], middle),
          mixed(in[4], variance)};
}

Values instance_normalization(Operation& in) {
  size_t rank = in.rank(in[0]);
  Expr out = standardized(in, in[0], int_array(axes_from(2, rank)), in.number("epsilon", 1e-5));
  return {add(multiply(out, per_channel(in[1], rank)), per_channel(in[2], rank))};
}

/// Computed in at least float32, as `stash_type` says.
Values layer_normalization(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  DataType work = dtype.bits < 32 ? DataType::Float(32) : dtype;
  size_t rank = in.rank(in[0]);
  int axis = in.axis(in.integer("axis", -1), rank);
  Expr middle, scale, x = work == dtype ? in[0] : cast(in[0], work);
  Expr out = standardized(in, x, int_array(axes_from(static_cast<size_t>(axis), rank)), in.number("epsilon", 1e-5),
                          &middle, &scale);
  if (work != dtype) out = cast(out, dtype);
  out = multiply(out, in[1]);
  if (in.has(2)) out = add(out, in[2]);
  return {out, middle, scale};
}

Values rms_normalization(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  DataType work = dtype.bits < 32 ? DataType::Float(32) : dtype;
  size_t rank = in.rank(in[0]);
  int axis = in.axis(in.integer("axis", -1), rank);
  Expr x = work == dtype ? in[0] : cast(in[0], work);
  Expr square = mean(multiply(x, x), int_array(axes_from(static_cast<size_t>(axis), rank)), true);
  Expr out = divide(x, sqrt(add(square, number_like(in, x, in.number("epsilon", 1e-5)))));
  return {multiply(work == dtype ? out : cast(out, dtype), in[1])};
}

/// Scale and bias are for each group until version 21, for each channel since.
Values group_normalization(Operation& in) {
  size_t rank = in.rank(in[0]);
  int64_t groups = in.integer("num_groups");
  auto* channels = rank < 2 ? nullptr : in.shape(in[0])[1].as<IntImm>();
  if (groups <= 0 || rank < 2 || (channels && channels->value % groups != 0))
    in.invalid("the groups do not divide the channels");
  DataType dtype = in.dtype(in[0]);
  DataType work = dtype.bits < 32 ? DataType::Float(32) : dtype;
  Expr x = work == dtype ? in[0] : cast(in[0], work);
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]);
  Expr by_group = reshape(x, int_array({shape ? (*shape)[0] : 0, groups, -1}));
  Expr out = standardized(in, by_group, int_array({2}), in.number("epsilon", 1e-5));
  auto in_channels = [&](const Expr& part) { return shape ? reshape(part, int_array(*shape)) : reshape_like(part, x); };
  auto along_groups = [&](const Expr& part, size_t rank) {
    return per_channel(work == dtype ? part : cast(part, work), rank);
  };
  if (in.version() < 21) {
    out = add(multiply(out, along_groups(in[1], 3)), along_groups(in[2], 3));
    out = in_channels(out);
  } else {
    out = in_channels(out);
    out = add(multiply(out, along_groups(in[1], rank)), along_groups(in[2], rank));
  }
  return {work == dtype ? out : cast(out, dtype)};
}

Values mean_variance_normalization(Operation& in) {
  std::vector<int64_t> axes = in.integers("axes", {0, 2, 3});
  Expr x = in[0], middle = mean(x, int_array(axes), true), centred = subtract(x, middle);
  Expr variance = mean(multiply(centred, centred), int_array(axes), true);
  return {divide(centred, add(sqrt(variance), number_like(in, x, 1e-9)))};
}

Values lp_normalization(Operation& in) {
  int axis = in.axis(in.integer("axis", -1), in.rank(in[0]));
  Expr x = in[0], norm;
  if (in.integer("p", 2) == 1) norm = reduce("sum", call_op("abs", {x}), int_array({axis}), true);
  else norm = sqrt(reduce("sum", multiply(x, x), int_array({axis}), true));
  Expr is_zero = equal(norm, number_like(in, x, 0));
  return {divide(x, where(is_zero, number_like(in, x, 1), norm))};
}

Values lrn(Operation& in) {
  return {call_op("nn.lrn", {in[0]}, make_attrs<LRNAttrs>([&](auto& attrs) {
                    attrs.size = static_cast<int32_t>(in.integer("size"));
                    attrs.axis = 1;
                    attrs.bias = in.number("bias", 1);
                    attrs.alpha = in.number("alpha", 1e-4);
                    attrs.beta = in.number("beta", 0.75);
                  }))};
}

// ---- softmax: along one axis since version 13, over all from the axis on before -------------------------------------

Expr softmax_along(const char* op, const Expr& x, int axis) {
  return call_op(op, {x}, make_attrs<SoftmaxAttrs>([&](auto& attrs) { attrs.axis = axis; }));
}

Expr hardmax_along(Operation& in, const Expr& x, int axis) {
  Expr index = call_op("argmax", {x}, make_attrs<ArgReduceAttrs>([&](auto& attrs) { attrs.axis = int_array({axis}); }));
  DataType dtype = in.dtype(x);
  const int64_t* extent = as_int(in.shape(x)[static_cast<size_t>(axis)]);
  if (!extent) {
    int behind = static_cast<int>(in.rank(x)) - axis - 1;
    Expr position = positions_along(in, x, axis), chosen = expand_dims(cast(index, DataType::Int(64)), axis);
    return cast(equal(chosen, behind ? expand_dims(position, 1, behind) : position), dtype);
  }
  return call_op("one_hot", {index, make_scalar(1, dtype), make_scalar(0, dtype)},
                 make_attrs<OneHotAttrs>([&](auto& attrs) {
                   attrs.depth = static_cast<int32_t>(*extent);
                   attrs.axis = axis;
                   attrs.dtype = dtype;
                 }));
}

using Along = std::function<Expr(Operation&, const Expr&, int)>;

Converter along_axis(Along apply) {
  return [apply](Operation& in) { return Values{apply(in, in[0], in.axis(in.integer("axis", -1), in.rank(in[0])))}; };
}

/// Softmax, or its logarithm, over all axes from one on.
Expr softmax_over(Operation& in, const Expr& x, int first, bool is_log) {
  Array<PrimExpr> axes = int_array(axes_from(static_cast<size_t>(first), in.rank(x)));
  Expr shifted = subtract(x, reduce("max", x, axes, true)), powers = call_op("exp", {shifted});
  Expr total = sum(powers, axes, true);
  return is_log ? subtract(shifted, call_op("log", {total})) : divide(powers, total);
}

/// The tensor is seen as a matrix whose rows begin at the axis.
Converter along_rows(Along apply) {
  return [apply](Operation& in) {
    size_t rank = in.rank(in[0]);
    int axis = in.axis(in.integer("axis", 1), rank);
    if (!in.fixed_shape(in[0])) {
      if (axis + 1 == static_cast<int>(rank)) return Values{apply(in, in[0], axis)};
      if (in.name() != "Hardmax") return Values{softmax_over(in, in[0], axis, in.name() == "LogSoftmax")};
      Expr rows = axis == 0 ? reshape(in[0], int_array({1, -1}))
                            : merged(merged(in[0], 0, axis), 1, static_cast<int>(rank) - axis + 1);
      return Values{reshape_like(apply(in, rows, 1), in[0])};
    }
    std::vector<int64_t> shape = in.static_shape(in[0], "softmax before version 13");
    int64_t rows = 1;
    for (int i = 0; i < axis; ++i) rows *= shape[static_cast<size_t>(i)];
    Expr matrix = reshape(in[0], int_array({rows, -1}));
    return Values{reshape(apply(in, matrix, 1), int_array(shape))};
  };
}

Expr softmax(Operation&, const Expr& x, int axis) { return softmax_of(x, axis); }
Expr log_softmax(Operation&, const Expr& x, int axis) { return softmax_along("nn.log_softmax", x, axis); }

// ---- losses ---------------------------------------------------------------------------------------------------------

/// -weight[target] * input[n, target, ...], summed up as `reduction` says; targets equal to ignore_index do not count.
Expr negative_log_likelihood(Operation& in, const Expr& log_prob, const Expr& target, const Expr& weight) {
  DataType dtype = in.dtype(log_prob), index = in.dtype(target);
  Expr counts = call_op("ones_like", {cast(target, dtype)}), label = target;
  if (in.has_attribute("ignore_index")) {
    Expr ignored = equal(target, make_scalar(double(in.integer("ignore_index")), index));
    counts = where(ignored, make_scalar(0, dtype), counts);
    label = where(ignored, make_scalar(0, index), target);
  }
  if (weight.defined()) counts = multiply(counts, checked_take(in, weight, label, 0));
  Expr chosen = squeeze(call_op("gather", {log_prob, expand_dims(label, 1)}, make_attrs<GatherAttrs>([&](auto& attrs) {
                                  attrs.axis = PrimExpr(1);
                                  attrs.checked_as = run_time_name(in);
                                })),
                        int_array({1}));
  Expr loss = negative(multiply(chosen, counts));
  std::string how = in.text("reduction", "mean");
  if (how == "none") return loss;
  Expr total = sum(loss);
  if (how == "sum") return total;
  if (how != "mean") in.invalid("the reduction " + how);
  return divide(total, sum(counts));
}

Values nll_loss(Operation& in) { return {negative_log_likelihood(in, in[0], in[1], in.get_or(2, nullptr))}; }

Values softmax_cross_entropy_loss(Operation& in) {
  Expr log_prob = softmax_along("nn.log_softmax", in[0], 1);
  return {negative_log_likelihood(in, log_prob, in[1], in.get_or(2, nullptr)), log_prob};
}

}  // namespace

Rows normalization_rows() {
  return {
      {"BatchNormalization", 1, batch_normalization},
      {"GroupNormalization", 18, group_normalization},
      {"Hardmax", 1, along_rows(hardmax_along)},
      {"Hardmax", 13, along_axis(hardmax_along)},
      {"InstanceNormalization", 1, instance_normalization},
      {"LRN", 1, lrn},
      {"LayerNormalization", 17, layer_normalization},
      {"LogSoftmax", 1, along_rows(log_softmax)},
      {"LogSoftmax", 13, along_axis(log_softmax)},
      {"LpNormalization", 1, lp_normalization},
      {"MeanVarianceNormalization", 9, mean_variance_normalization},
      {"NegativeLogLikelihoodLoss", 12, nll_loss},
      {"RMSNormalization", 23, rms_normalization},
      {"Softmax", 1, along_rows(softmax)},
      {"Softmax", 13, along_axis(softmax)},
      {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy_loss},
  };
}

}  // namespace tessera::onnx
