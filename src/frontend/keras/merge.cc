// Layers of several inputs.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/keras/keras.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::keras {
namespace {

using namespace relay;  // NOLINT: makers of calls

using Binary = Expr (*)(Expr, Expr);

Expr folded(KerasLayer& in, Binary op) {
  if (in.size() < 2) in.invalid("it needs two inputs");
  Expr out = in[0];
  for (size_t i = 1; i < in.size(); ++i) out = op(out, in[i]);
  return out;
}

/// Functions that Keras 3 makes of operators on its tensors: numbers among the arguments stand in the call.
template <Binary op>
Exprs function(KerasLayer& in) {
  if (in.size() == 2) return {op(in[0], in[1])};
  const std::vector<ObjectRef> arguments = in.fields().object("call").list("args");
  if (in.size() != 1 || arguments.size() != 2) in.unsupported("arguments other than two, tensors or numbers");
  auto operand = [&](const ObjectRef& value) {
    return value.as<MapNode>() ? in[0] : make_scalar(number_of(value, "an argument"), in.dtype(in[0]));
  };
  return {op(operand(arguments[0]), operand(arguments[1]))};
}

template <Binary op>
Exprs merge(KerasLayer& in) {
  return in.size() == 1 && in.fields().has("call") ? function<op>(in) : Exprs{folded(in, op)};
}

Exprs subtract_layer(KerasLayer& in) {
  if (in.size() != 2) in.invalid("it takes two inputs");
  return {subtract(in[0], in[1])};
}

Exprs average(KerasLayer& in) {
  Expr sum = folded(in, relay::add);
  return {divide(sum, make_scalar(static_cast<double>(in.size()), in.dtype(sum)))};
}

Exprs concatenate_layer(KerasLayer& in) {
  Array<Expr> parts;
  for (const Expr& part : in.inputs()) parts.push_back(part);
  return {concatenate(parts, in.memory_axis(in.integer("axis", -1), in.rank(in[0])))};
}

/// Matmuls of matrices made of one axis each, for every element of the batch.
Exprs dot(KerasLayer& in) {
  if (in.size() != 2) in.invalid("it takes two inputs");
  Ints axes = in.fields().integers("axes");
  if (axes.size() == 1) axes = {axes[0], axes[0]};
  Expr a = in[0], b = in[1];
  const size_t rank_a = in.rank(a), rank_b = in.rank(b);
  if (rank_a < 2 || rank_b < 2 || rank_a > 3 || rank_b > 3)
    in.unsupported("data of other than two or three dimensions");
  const int axis_a = in.axis(axes[0], rank_a), axis_b = in.axis(axes[1], rank_b);
  if (axis_a == 0 || axis_b == 0) in.unsupported("a sum over the batch");
  if (in.flag("normalize")) {
    auto normal = [&](const Expr& x, int axis) {
      Expr squares = sum(multiply(x, x), int_array({axis}), true);
      return divide(x, sqrt(maximum(squares, make_scalar(1e-12, in.dtype(x)))));
    };
    a = normal(a, axis_a), b = normal(b, axis_b);
  }
  if (rank_a == 2) a = expand_dims(a, 1);                        // (batch, 1, k)
  else if (axis_a == 1) a = transpose(a, int_array({0, 2, 1}));  // (batch, m, k)
  if (rank_b == 2) b = expand_dims(b, 2);                        // (batch, k, 1)
  else if (axis_b == 2) b = transpose(b, int_array({0, 2, 1}));  // (batch, k, n)
  Expr out = matmul_like_numpy(in, a, b);
  std::vector<int64_t> gone;
  if (rank_a == 2 && rank_b == 3) gone.push_back(1);
  if (rank_b == 2) gone.push_back(2);
  return {gone.empty() ? out : squeeze(out, int_array(gone))};
}

}  // namespace

KerasRows merge_rows() {
  return {
      {"Add", merge<relay::add>, Order::AsIs},
      {"Average", average, Order::AsIs},
      {"Concatenate", concatenate_layer, Order::AsIs},
      {"Dot", dot},
      {"Maximum", merge<relay::maximum>, Order::AsIs},
      {"Minimum", merge<relay::minimum>, Order::AsIs},
      {"Multiply", merge<relay::multiply>, Order::AsIs},
      {"Subtract", subtract_layer, Order::AsIs},
      {"ops.Add", function<relay::add>, Order::AsIs},
      {"ops.Divide", function<relay::divide>, Order::AsIs},
      {"ops.Maximum", function<relay::maximum>, Order::AsIs},
      {"ops.Minimum", function<relay::minimum>, Order::AsIs},
      {"ops.Multiply", function<relay::multiply>, Order::AsIs},
      {"ops.Subtract", function<relay::subtract>, Order::AsIs},
      {"ops.TrueDivide", function<relay::divide>, Order::AsIs},
  };
}

}  // namespace tessera::keras
