// Reshapes, slices and reductions of channels, rows and columns, and reductions of tensors of any rank.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/coreml/coreml.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::coreml {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Exprs parts_along(const LayerNode& in, int axis, const std::vector<int64_t>& sizes) {
  Exprs out;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    if (size < 1) in.invalid("a part has " + std::to_string(size) + " elements");
    out.push_back(slice(in[0], axis, begin, begin + size));
    begin += size;
  }
  return out;
}
Exprs equal_parts(const LayerNode& in, int axis, int64_t count) {
  const int64_t extent = in.static_shape(in[0], "a split")[static_cast<size_t>(axis)];
  if (count < 1 || count > 1 << 20 || extent % count)
    in.invalid("the axis cannot be split into " + std::to_string(count) + " parts");
  return parts_along(in, axis, std::vector<int64_t>(static_cast<size_t>(count), extent / count));
}

namespace {

Expr number_of_type(const LayerNode& in, double value) { return make_scalar(value, in.dtype(in[0])); }

/// Rows, columns and channels as one dimension, the channels last where the layer says so.
Exprs flatten_layer(LayerNode& in) {
  Expr x = in[0];
  const auto rank = static_cast<int>(in.rank(x));
  if (rank < 3) return {x};
  if (in.text("mode", "CHANNEL_FIRST") == "CHANNEL_LAST") {
    std::vector<int64_t> axes;
    for (int i = 0; i < rank; ++i) axes.push_back(i < rank - 3 ? i : i == rank - 1 ? rank - 3 : i + 1);
    x = typed(transpose(x, int_array(axes)));
  }
  Expr out = merged(x, rank - 3, rank);
  return {in.flag(kHasExactShapes) ? expand_dims(out, rank - 2, 2) : out};
}

/// To (channels, rows, columns), before which the batch stays; four numbers begin with the length of the sequence.
Exprs reshape_to_image(LayerNode& in) {
  Ints target = in.fields().integers("targetShape");
  if (target.size() != 3 && target.size() != 4) in.invalid("targetShape must have three or four numbers");
  const size_t rank = in.rank(in[0]);
  const bool has_batch = rank == 2 || rank >= 4;
  std::vector<int64_t> lead;
  if (target.size() == 4) lead = {target[0]};
  else if (rank == 5) lead = {0, 0};
  else if (has_batch) lead = {0};
  Ints image(target.end() - 3, target.end());
  Expr x = in[0];
  const bool is_last = in.text("mode", "CHANNEL_FIRST") == "CHANNEL_LAST";
  std::vector<int64_t> shape = lead;
  if (!is_last || rank < 3) {
    shape.insert(shape.end(), image.begin(), image.end());
    return {reshape(x, int_array(shape))};
  }
  x = apply(in, "Transpose", {x}, {{"perm", [&] {
                                      std::vector<int64_t> axes;
                                      for (size_t i = 0; i + 3 < rank; ++i) axes.push_back(static_cast<int64_t>(i));
                                      const auto first = static_cast<int64_t>(rank) - 3;
                                      axes.insert(axes.end(), {first + 1, first + 2, first});
                                      return axes;
                                    }()}});
  shape.insert(shape.end(), {image[1], image[2], image[0]});
  Expr out = typed(reshape(x, int_array(shape)));
  std::vector<int64_t> back;
  for (size_t i = 0; i < lead.size(); ++i) back.push_back(static_cast<int64_t>(i));
  const auto first = static_cast<int64_t>(lead.size());
  back.insert(back.end(), {first + 2, first, first + 1});
  return {transpose(out, int_array(back))};
}

/// The order of (sequence, channels, rows, columns); a batch between the first two stays where it is.
Exprs permute_layer(LayerNode& in) {
  Ints order = in.fields().integers("axis", {0, 1, 2, 3});
  const auto rank = static_cast<int64_t>(in.rank(in[0]));
  if (order.size() != 4 || rank < 3 || rank > 5) in.invalid("the axes do not fit the data");
  if (rank == 3 && order[0] != 0) in.invalid("the data has no sequence to move");
  std::vector<int64_t> axes;
  for (size_t i = rank == 3 ? 1 : 0; i < 4; ++i) {
    if (order[i] < 0 || order[i] > 3) in.invalid("an axis is " + std::to_string(order[i]));
    axes.push_back(rank == 3 ? order[i] - 1 : rank == 5 && order[i] > 0 ? order[i] + 1 : order[i]);
  }
  if (rank == 5) axes.insert(axes.begin() + 1, 1);
  return {apply(in, "Transpose", {in[0]}, {{"perm", axes}})};
}

Exprs concat_channels(LayerNode& in) {
  const auto rank = static_cast<int>(in.rank(in[0]));
  const int axis = in.flag("sequenceConcat") ? 0 : rank >= 3 ? channel_axis(in, in[0]) : rank - 1;
  return {concatenate(Array<Expr>(in.inputs().begin(), in.inputs().end()), axis)};
}

Exprs split_channels(LayerNode& in) { return equal_parts(in, channel_axis(in, in[0]), in.integer("nOutputs", 0)); }

Exprs slice_layer(LayerNode& in) {
  const std::string name = in.text("axis", "CHANNEL_AXIS");
  const int64_t from_end = name == "CHANNEL_AXIS" ? -3 : name == "HEIGHT_AXIS" ? -2 : -1;
  const auto axis = static_cast<size_t>(in.axis(from_end, in.rank(in[0])));
  const int64_t extent = in.static_shape(in[0], "a slice")[axis], stride = in.integer("stride", 1);
  int64_t begin = in.integer("startIndex", 0), end = in.integer("endIndex", 0);
  if (begin < 0) begin += extent;
  if (end < 0) end += extent;
  if (begin < 0 || begin >= end || end > extent || stride < 1) in.invalid("the slice lies outside of the data");
  return {slice(in[0], static_cast<int>(axis), begin, end, stride)};
}

// ---- reductions ------------------------------------------------------------------------------------------------------

/// The reduction of that name, over these axes.
Expr reduced(LayerNode& in, const std::string& how, const std::vector<int64_t>& axes, bool keeps, double epsilon) {
  Expr x = in[0];
  const Array<PrimExpr> over = int_array(axes);
  auto total = [&](Expr of) { return sum(of, over, keeps); };
  if (how == "Sum") return total(x);
  if (how == "Mean") return mean(x, over, keeps);
  if (how == "Prod") return reduce("prod", x, over, keeps);
  if (how == "Max") return reduce("max", x, over, keeps);
  if (how == "Min") return reduce("min", x, over, keeps);
  if (how == "LogSum") return total(log(add(x, number_of_type(in, epsilon))));
  if (how == "LogOfSum") return log(total(x));
  if (how == "SumSquare") return total(multiply(x, x));
  if (how == "L1") return total(call_op("abs", {x}));
  if (how == "L2") return sqrt(total(multiply(x, x)));
  return apply(in, "ReduceLogSumExp", {x, make_ints(axes)}, {{"keepdims", keeps}});
}

/// Over channels, rows and columns as the layer names them; the dimensions stay, with one element each.
Exprs reduce_layer(LayerNode& in) {
  static const std::unordered_map<std::string, std::vector<int64_t>> named{
      {"CHW", {-3, -2, -1}}, {"HW", {-2, -1}}, {"C", {-3}}, {"H", {-2}}, {"W", {-1}}};
  static const std::unordered_map<std::string, const char*> modes{
      {"SUM", "Sum"}, {"AVG", "Mean"}, {"PROD", "Prod"}, {"LOGSUM", "LogSum"}, {"SUMSQUARE", "SumSquare"},
      {"L1", "L1"},   {"L2", "L2"},    {"MAX", "Max"},   {"MIN", "Min"}};
  auto found = named.find(in.text("axis", "CHW"));
  if (found == named.end()) in.unsupported("this axis");
  const auto rank = static_cast<int64_t>(in.rank(in[0]));
  const bool is_vector = rank < 3 && !in.flag(kHasExactShapes);  // (batch, channels)
  std::vector<int64_t> axes;
  for (int64_t axis : found->second) {
    if (is_vector && axis != -3) continue;
    axes.push_back(in.axis(is_vector ? -1 : axis, static_cast<size_t>(rank)));
  }
  const std::string mode = in.text("mode", "SUM");
  if (mode == "ARGMAX") {
    if (axes.size() != 1) in.invalid("ARGMAX is over one axis");
    return {cast(apply(in, "ArgMax", {in[0]}, {{"axis", axes[0]}, {"keepdims", 1}}), in.dtype(in[0]))};
  }
  auto how = modes.find(mode);
  if (how == modes.end()) in.unsupported("the reduction " + mode);
  if (axes.empty()) return {in[0]};
  return {reduced(in, how->second, axes, true, number_or(in.fields(), "epsilon", 1e-6))};
}

LayerConverter reduce_tensor(const char* how) {
  return [how](LayerNode& in) -> Exprs {
    const size_t rank = in.rank(in[0]);
    std::vector<int64_t> axes;
    if (!in.flag("reduceAll"))
      for (int64_t axis : in.fields().integers("axes")) axes.push_back(in.axis(axis, rank));
    if (axes.empty())
      for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    return {reduced(in, how, axes, in.flag("keepDims"), 0)};
  };
}

LayerConverter arg_extreme(const char* op) {
  return [op](LayerNode& in) -> Exprs {
    const int64_t axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
    Expr out = apply(in, op, {in[0]}, {{"axis", axis}, {"keepdims", !in.flag("removeDim")}});
    return {cast(out, in.dtype(in[0]))};
  };
}

Exprs top_k_layer(LayerNode& in) {
  const int64_t axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
  if (in.has(1)) in.unsupported("k as an input");
  std::vector<Expr> both = onnx::apply_all(in, "TopK", {in[0], make_ints({in.integer("K", 0)})},
                                           {{"axis", axis}, {"largest", !in.flag("useBottomK")}}, 2);
  return {both.at(0), cast(both.at(1), in.dtype(in[0]))};
}

}  // namespace

LayerRows shape_rows() {
  return {
      {"argMax", arg_extreme("ArgMax")},
      {"argMin", arg_extreme("ArgMin")},
      {"concat", concat_channels},
      {"flatten", flatten_layer},
      {"permute", permute_layer},
      {"reduce", reduce_layer},
      {"reduceL1", reduce_tensor("L1")},
      {"reduceL2", reduce_tensor("L2")},
      {"reduceLogSum", reduce_tensor("LogOfSum")},
      {"reduceLogSumExp", reduce_tensor("LogSumExp")},
      {"reduceMax", reduce_tensor("Max")},
      {"reduceMean", reduce_tensor("Mean")},
      {"reduceMin", reduce_tensor("Min")},
      {"reduceProd", reduce_tensor("Prod")},
      {"reduceSum", reduce_tensor("Sum")},
      {"reduceSumSquare", reduce_tensor("SumSquare")},
      {"reshape", reshape_to_image},
      {"slice", slice_layer},
      {"split", split_channels},
      {"topK", top_k_layer},
  };
}

}  // namespace tessera::coreml
