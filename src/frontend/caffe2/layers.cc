// Arithmetic, activations, linear layers, and what moves elements.

#include <algorithm>

#include "frontend/caffe2/caffe2.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::caffe2 {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// Both operands are broadcast as NumPy has it; where `broadcast` is set, the second lies along the dimensions of the first from an
/// axis on.
LayerConverter binary(const char* op) {
  return [op](LayerNode& in) -> Exprs {
    Expr b = in[1];
    const auto rank = static_cast<int>(in.rank(in[0])), own = static_cast<int>(in.rank(b));
    const int64_t given = in.fields().has("axis_str") ? -2 : in.integer("axis", -1);
    if (given == -2) in.unsupported("axis_str");
    if (in.flag("broadcast") && given >= 0) {
      if (given + own > rank) in.invalid("the second input has more dimensions than the first from the axis on");
      if (const int missing = rank - own - static_cast<int>(given)) b = expand_dims(b, own, missing);
    }
    return {call_op(op, {in[0], b})};
  };
}

Exprs sum_of_all(LayerNode& in) {
  Expr out = in[0];
  for (size_t i = 1; i < in.size(); ++i) out = add(out, in[i]);
  return {out};
}

Exprs identity(LayerNode& in) { return Exprs(std::max<size_t>(in.num_outputs(), 1), in[0]); }
Exprs dropout(LayerNode& in) {
  Exprs out{in[0]};  // the mask of training, which reads as all ones
  if (in.num_outputs() > 1) out.push_back(cast(ones_like(in[0]), DataType::Bool()));
  return out;
}
Exprs rectified(LayerNode& in) { return {call_op("nn.relu", {in[0]})}; }
Exprs leaky(LayerNode& in) { return {apply(in, "LeakyRelu", {in[0]}, {{"alpha", in.number("alpha", 0.01)}})}; }
Exprs logistic(LayerNode& in) { return {sigmoid(in[0])}; }
Exprs hyperbolic_tangent(LayerNode& in) { return {tanh(in[0])}; }

/// (dimensions before the axis, those from it on) as a matrix.
Expr matrix(const LayerNode& in, const Expr& x, const char* axis_name) {
  const auto rank = static_cast<int>(in.rank(x));
  const int axis = in.axis(in.integer(axis_name, 1), static_cast<size_t>(rank) + 1);
  if (rank == 2 && axis == 1) return x;
  if (axis == 0) return typed(reshape_to(x, {1, -1}));
  return axis == rank ? typed(reshape_to(x, {-1, 1})) : typed(merged(typed(merged(x, axis, rank)), 0, axis));
}

Exprs softmax(LayerNode& in) { return {reshape_like(softmax_of(matrix(in, in[0], "axis"), 1), in[0])}; }

Exprs fully_connected(LayerNode& in) {
  const int axis = in.axis(in.integer("axis", 1), in.rank(in[0]));
  Expr weight = matrix(in, in[1], "axis_w");
  Expr out = typed(call_op("nn.dense", {matrix(in, in[0], "axis"), weight}, make_attrs<DenseAttrs>([](auto&) {})));
  out = add(out, reshape_to(in[2], {-1}));
  if (axis == 1) return {out};
  Ints shape = in.static_shape(in[0], "a matrix of several dimensions"), units = in.static_shape(weight, "the weight");
  std::vector<int64_t> whole(shape.begin(), shape.begin() + axis);
  whole.push_back(units[0]);
  return {reshape_to(out, whole)};
}

/// The second output says the extents of the inputs.
Exprs concat(LayerNode& in) {
  const bool adds = in.flag("add_axis");
  const size_t rank = in.rank(in[0]) + adds;
  const int axis = in.axis(in.integer("axis", in.text("order", "NCHW") == "NHWC" ? 3 : 1), rank);
  Array<Expr> parts;
  std::vector<int64_t> lengths;
  for (const Expr& x : in.inputs()) {
    parts.push_back(adds ? expand_dims(x, axis) : x);
    if (in.num_outputs() > 1)
      lengths.push_back(adds ? 1 : in.static_shape(x, "the extents of a concatenation")[static_cast<size_t>(axis)]);
  }
  Exprs out{concatenate(parts, axis)};
  if (in.num_outputs() > 1) out.push_back(make_ints(lengths, DataType::Int(32)));
  return out;
}

Exprs flatten(LayerNode& in) { return {matrix(in, in[0], "axis")}; }
Exprs transposed(LayerNode& in) {
  Ints axes = in.fields().integers("axes");
  return {axes.empty() ? transpose(in[0]) : transpose(in[0], int_array(axes))};
}
Exprs reshaped(LayerNode& in) {
  Ints shape = in.has(1) ? in.needed_ints(in[1], "the shape") : in.fields().integers("shape");
  Exprs out{apply(in, "Reshape", {in[0], make_ints(shape)})};
  if (in.num_outputs() > 1) out.push_back(make_ints(in.static_shape(in[0], "the old shape")));
  return out;
}

}  // namespace

LayerRows layer_rows() {
  return {
      {"Add", binary("add")},       {"Concat", concat},         {"Copy", identity},          {"Div", binary("divide")},
      {"Dropout", dropout},         {"FC", fully_connected},    {"Flatten", flatten},        {"LeakyRelu", leaky},
      {"Mul", binary("multiply")},  {"Relu", rectified},        {"Reshape", reshaped},       {"Sigmoid", logistic},
      {"Softmax", softmax},         {"StopGradient", identity}, {"Sub", binary("subtract")}, {"Sum", sum_of_all},
      {"Tanh", hyperbolic_tangent}, {"Transpose", transposed},
  };
}

}  // namespace tessera::caffe2
