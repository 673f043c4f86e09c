// Layers of tensors of any rank.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/coreml/coreml.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::coreml {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr number_like(const LayerNode& in, double value) { return make_scalar(value, in.dtype(in[0])); }
int64_t axis_given(const LayerNode& in, size_t rank) { return in.axis(in.integer("axis", 0), rank); }

Exprs identity(LayerNode& in) { return {in[0]}; }

// ---- element by element ----------------------------------------------------------------------------------------------

/// An operator of ONNX of one input.
LayerConverter onnx_unary(const char* op) {
  return [op](LayerNode& in) -> Exprs { return {apply(in, op, {in[0]})}; };
}
LayerConverter relay_binary(const char* op) {
  return [op](LayerNode& in) -> Exprs { return {call_op(op, {in[0], in[1]})}; };
}
/// With the second input, or a number; 1 where it holds and 0 else.
LayerConverter comparison(const char* op) {
  return [op](LayerNode& in) -> Exprs {
    Expr other = in.has(1) ? in[1] : number_like(in, in.number("alpha", 0));
    return {cast(call_op(op, {in[0], other}), in.dtype(in[0]))};
  };
}
LayerConverter logical(const char* op) {
  return [op](LayerNode& in) -> Exprs {
    Array<Expr> truths;
    for (const Expr& x : in.inputs()) truths.push_back(call_op("not_equal", {x, make_scalar(0, in.dtype(x))}));
    return {cast(call_op(op, truths), in.dtype(in[0]))};
  };
}
Exprs clip_layer(LayerNode& in) { return {clip(in[0], in.number("minVal", 0), in.number("maxVal", 0))}; }
Exprs clamped_relu(LayerNode& in) {
  Expr leaky = apply(in, "LeakyRelu", {in[0]}, {{"alpha", in.number("alpha", 0)}});
  return {minimum(leaky, number_like(in, in.number("beta", 0)))};
}
Exprs gelu_layer(LayerNode& in) {
  const std::string mode = in.text("mode", "EXACT");
  if (mode == "SIGMOID_APPROXIMATION") return {multiply(in[0], sigmoid(multiply(in[0], number_like(in, 1.702))))};
  return {apply(in, "Gelu", {in[0]}, {{"approximate", mode == "EXACT" ? "none" : "tanh"}})};
}
Exprs exp2_layer(LayerNode& in) { return {power(number_like(in, 2), in[0])}; }
Exprs where_layer(LayerNode& in) { return {where(call_op("not_equal", {in[0], number_like(in, 0)}), in[1], in[2])}; }

// ---- tensors of any rank ---------------------------------------------------------------------------------------------

Exprs transpose_layer(LayerNode& in) {
  return {apply(in, "Transpose", {in[0]}, {{"perm", in.fields().integers("axes")}})};
}
Exprs squeeze_layer(LayerNode& in) {
  if (in.flag("squeezeAll")) return {apply(in, "Squeeze", {in[0]})};
  return {apply(in, "Squeeze", {in[0], make_ints(in.fields().integers("axes"))})};
}
Exprs expand_layer(LayerNode& in) { return {apply(in, "Unsqueeze", {in[0], make_ints(in.fields().integers("axes"))})}; }
/// 0 keeps an extent, -1 is what remains.
Exprs reshape_tensor(LayerNode& in) {
  return {apply(in, "Reshape", {in[0], make_ints(in.fields().integers("targetShape"))})};
}
Exprs flatten_to_matrix(LayerNode& in) {
  return {apply(in, "Flatten", {in[0]}, {{"axis", axis_given(in, in.rank(in[0]) + 1)}})};
}
Exprs concat_tensors(LayerNode& in) {
  if (in.flag("interleave")) in.unsupported("interleaved concatenation");
  const auto axis = static_cast<int>(axis_given(in, in.rank(in[0])));
  return {concatenate(Array<Expr>(in.inputs().begin(), in.inputs().end()), axis)};
}
Exprs stack_layer(LayerNode& in) {
  const auto axis = static_cast<int>(axis_given(in, in.rank(in[0]) + 1));
  return {stack(Array<Expr>(in.inputs().begin(), in.inputs().end()), axis)};
}
Exprs split_tensor(LayerNode& in) {
  const auto axis = static_cast<int>(axis_given(in, in.rank(in[0])));
  Ints sizes = in.fields().integers("splitSizes");
  if (sizes.empty()) return equal_parts(in, axis, in.integer("numSplits", 0));
  int64_t total = 0;
  for (int64_t size : sizes) total += std::clamp<int64_t>(size, 0, int64_t{1} << 40);
  if (total != in.static_shape(in[0], "a split")[static_cast<size_t>(axis)])
    in.invalid("splitSizes do not fit the data");
  return parts_along(in, axis, sizes);
}
Exprs softmax_tensor(LayerNode& in) { return {softmax_of(in[0], static_cast<int>(axis_given(in, in.rank(in[0]))))}; }

/// Bounds that a mask marks are those of the data; dimensions that a mask marks are one index and leave the shape.
Exprs slice_static(LayerNode& in) {
  Ints shape = in.static_shape(in[0], "a slice"), begins = in.fields().integers("beginIds"),
       ends = in.fields().integers("endIds"),
       strides = in.fields().integers("strides", std::vector<int64_t>(shape.size(), 1));
  const size_t rank = shape.size();
  auto marked = [&](const char* name, size_t axis) {
    Ints mask = in.fields().integers(name);
    return axis < mask.size() && mask[axis] != 0;
  };
  if (begins.size() != rank || ends.size() != rank || strides.size() != rank)
    in.invalid("bounds and strides do not fit the data");
  std::vector<int64_t> axes, dropped;
  for (size_t i = 0; i < rank; ++i) {
    axes.push_back(static_cast<int64_t>(i));
    if (marked("squeezeMasks", i))
      ends[i] = begins[i] == -1 ? INT32_MAX : begins[i] + 1, strides[i] = 1, dropped.push_back(axes.back());
    else if (marked("endMasks", i)) ends[i] = strides[i] > 0 ? INT32_MAX : INT32_MIN;
    if (marked("beginMasks", i) && !marked("squeezeMasks", i)) begins[i] = strides[i] > 0 ? 0 : INT32_MAX;
  }
  Expr out = apply(in, "Slice", {in[0], make_ints(begins), make_ints(ends), make_ints(axes), make_ints(strides)});
  return {dropped.empty() ? out : apply(in, "Squeeze", {typed(out), make_ints(dropped)})};
}

Exprs tile_layer(LayerNode& in) { return {apply(in, "Tile", {in[0], make_ints(in.fields().integers("reps"))})}; }
Exprs reverse_layer(LayerNode& in) {
  Ints marks = in.fields().integers("reverseDim");
  Expr out = in[0];
  for (size_t i = 0; i < marks.size() && i < in.rank(in[0]); ++i)
    if (marks[i]) out = slice(out, static_cast<int>(i), -1, INT32_MIN, -1);
  return {out};
}
Exprs gather_layer(LayerNode& in) {
  return {
      apply(in, "Gather", {in[0], typed(cast(in[1], DataType::Int(64)))}, {{"axis", axis_given(in, in.rank(in[0]))}})};
}
Exprs one_hot_layer(LayerNode& in) {
  Expr numbers = numbers_of({in.number("offValue", 0), number_or(in.fields(), "onValue", 1)}, {2}, DataType::Float(32));
  return {apply(in, "OneHot",
                {typed(cast(in[0], DataType::Int(64))), make_ints({in.integer("oneHotVectorSize", 0)}), numbers},
                {{"axis", in.integer("axis", -1)}})};
}
Exprs cum_sum_layer(LayerNode& in) {
  return {apply(in, "CumSum", {in[0], make_ints({axis_given(in, in.rank(in[0]))})},
                {{"exclusive", in.flag("excludeFinalSum")}, {"reverse", in.flag("reverse")}})};
}

/// Begin and end of each dimension in turn.
Exprs constant_pad(LayerNode& in) {
  if (in.flag("padToGivenOutputSizeMode")) in.unsupported("padding to an output size");
  const size_t rank = in.rank(in[0]);
  Ints amounts = in.fields().integers("padAmounts");
  if (amounts.size() != 2 * rank) in.invalid("padAmounts do not fit the data");
  std::vector<int64_t> pads(2 * rank);
  for (size_t i = 0; i < rank; ++i) pads[i] = amounts[2 * i], pads[rank + i] = amounts[2 * i + 1];
  return {apply(in, "Pad", {in[0], make_ints(pads), number_like(in, in.number("value", 0))})};
}

Exprs fill_static(LayerNode& in) {
  Expr value = make_scalar(in.number("value", 0), DataType::Float(32));
  return {apply(in, "Expand", {value, make_ints(in.fields().integers("targetShape"))})};
}
Exprs broadcast_static(LayerNode& in) {
  return {apply(in, "Expand", {in[0], make_ints(in.fields().integers("targetShape"))})};
}
Exprs constant_tensor(LayerNode& in) { return {weights_of(in, in.fields(), "data")}; }
/// (channels, rows, columns), with a batch of one in front.
Exprs constant_image(LayerNode& in) {
  return {expand_dims(weights_of(in, in.fields(), "data"), 0, in.flag(kHasExactShapes) ? 2 : 1)};
}

/// The last two dimensions are matrices; one input is multiplied by the layer's weight.
Exprs batched_matmul_layer(LayerNode& in) {
  auto turned = [&](const Expr& x, const char* flag) {
    if (!in.flag(flag)) return x;
    const size_t rank = in.rank(x);
    if (rank < 2) in.invalid("a vector cannot be transposed");
    std::vector<int64_t> axes;
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    std::swap(axes[rank - 1], axes[rank - 2]);
    return typed(transpose(x, int_array(axes)));
  };
  Expr out = matmul_like_numpy(in, turned(in[0], "transposeA"),
                               in.has(1) ? turned(in[1], "transposeB") : weights_of(in, in.fields(), "weights"));
  return {in.flag("hasBias") ? add(out, weights_of(in, in.fields(), "bias")) : out};
}

/// A row of the table for each index; the last dimension is one index.
Exprs embedding_tensor(LayerNode& in) {
  Expr table = transpose(weights_of(in, in.fields(), "weights"), int_array({1, 0}));
  const auto rank = static_cast<int>(in.rank(in[0]));
  if (rank < 1) in.invalid("the data has no dimensions");
  Expr out = take(table, cast(squeeze(in[0], int_array({rank - 1})), DataType::Int(32)), 0);
  return {in.flag("hasBias") ? add(out, weights_of(in, in.fields(), "bias")) : out};
}

Exprs layer_norm(LayerNode& in) {
  const auto rank = static_cast<int64_t>(in.rank(in[0]));
  const auto count = static_cast<int64_t>(in.fields().integers("normalizedShape").size());
  if (count < 1 || count > rank) in.invalid("normalizedShape does not fit the data");
  std::vector<int64_t> axes;
  for (int64_t i = rank - count; i < rank; ++i) axes.push_back(i);
  Expr from_mean = subtract(in[0], mean(in[0], int_array(axes), true));
  Expr variance = mean(multiply(from_mean, from_mean), int_array(axes), true);
  Expr out = multiply(from_mean, rsqrt(add(variance, number_like(in, number_or(in.fields(), "eps", 1e-5)))));
  if (in.fields().has("gamma")) out = multiply(out, weights_of(in, in.fields(), "gamma"));
  return {in.fields().has("beta") ? add(out, weights_of(in, in.fields(), "beta")) : out};
}

}  // namespace

LayerRows tensor_rows() {
  LayerRows rows{
      {"batchedMatmul", batched_matmul_layer},
      {"broadcastToStatic", broadcast_static},
      {"clampedReLU", clamped_relu},
      {"clip", clip_layer},
      {"concatND", concat_tensors},
      {"constantPad", constant_pad},
      {"copy", identity},
      {"cumSum", cum_sum_layer},
      {"embeddingND", embedding_tensor},
      {"exp2", exp2_layer},
      {"expandDims", expand_layer},
      {"fillStatic", fill_static},
      {"flattenTo2D", flatten_to_matrix},
      {"gather", gather_layer},
      {"gelu", gelu_layer},
      {"layerNormalization", layer_norm},
      {"loadConstant", constant_image},
      {"loadConstantND", constant_tensor},
      {"oneHot", one_hot_layer},
      {"rankPreservingReshape", reshape_tensor},
      {"reshapeStatic", reshape_tensor},
      {"reverse", reverse_layer},
      {"sliceStatic", slice_static},
      {"softmaxND", softmax_tensor},
      {"splitND", split_tensor},
      {"squeeze", squeeze_layer},
      {"stack", stack_layer},
      {"tile", tile_layer},
      {"transpose", transpose_layer},
      {"whereBroadcastable", where_layer},
  };
  const std::pair<const char*, const char*> from_onnx[] = {
      {"acos", "Acos"},   {"acosh", "Acosh"}, {"asin", "Asin"}, {"asinh", "Asinh"}, {"atan", "Atan"},
      {"atanh", "Atanh"}, {"ceil", "Ceil"},   {"cos", "Cos"},   {"cosh", "Cosh"},   {"erf", "Erf"},
      {"floor", "Floor"}, {"round", "Round"}, {"sign", "Sign"}, {"sin", "Sin"},     {"sinh", "Sinh"},
      {"tan", "Tan"},     {"tanh", "Tanh"}};
  for (const auto& [name, op] : from_onnx) rows.push_back({name, onnx_unary(op)});
  const std::pair<const char*, const char*> binary[] = {{"addBroadcastable", "add"},
                                                        {"divideBroadcastable", "divide"},
                                                        {"floorDivBroadcastable", "floor_divide"},
                                                        {"maxBroadcastable", "maximum"},
                                                        {"minBroadcastable", "minimum"},
                                                        {"modBroadcastable", "floor_mod"},
                                                        {"multiplyBroadcastable", "multiply"},
                                                        {"powBroadcastable", "power"},
                                                        {"subtractBroadcastable", "subtract"}};
  for (const auto& [name, op] : binary) rows.push_back({name, relay_binary(op)});
  const std::pair<const char*, const char*> comparisons[] = {
      {"equal", "equal"},          {"notEqual", "not_equal"},  {"lessThan", "less"},
      {"lessEqual", "less_equal"}, {"greaterThan", "greater"}, {"greaterEqual", "greater_equal"}};
  for (const auto& [name, op] : comparisons) rows.push_back({name, comparison(op)});
  const std::pair<const char*, const char*> logicals[] = {{"logicalAnd", "logical_and"},
                                                          {"logicalNot", "logical_not"},
                                                          {"logicalOr", "logical_or"},
                                                          {"logicalXor", "logical_xor"}};
  for (const auto& [name, op] : logicals) rows.push_back({name, logical(op)});
  return rows;
}

}  // namespace tessera::coreml
