// What moves elements: concatenation, slices, reshapes, reductions.

#include <algorithm>

#include "frontend/caffe/caffe.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::caffe {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// `axis`, or what older files call it.
int axis_of(const LayerNode& in, const char* older) {
  return in.axis(in.integer(in.fields().has("axis") ? "axis" : older, 1), in.rank(in[0]));
}

Exprs concat(LayerNode& in) {
  const int axis = axis_of(in, "concat_dim");
  return {concatenate(Array<Expr>(in.inputs().begin(), in.inputs().end()), axis)};
}

Exprs slices(LayerNode& in) {
  const int axis = axis_of(in, "slice_dim");
  const int64_t extent = in.static_shape(in[0], "a slice")[static_cast<size_t>(axis)];
  const auto count = static_cast<int64_t>(in.num_outputs());
  Ints points = in.fields().integers("slice_point");
  if (points.empty()) {
    if (count < 1 || extent % count) in.invalid("the axis is not divisible into its outputs");
    for (int64_t i = 1; i < count; ++i) points.push_back(i * (extent / count));
  }
  if (static_cast<int64_t>(points.size()) != count - 1) in.invalid("slice_point does not fit the number of outputs");
  points.insert(points.begin(), 0);
  points.push_back(extent);
  Exprs out;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    if (points[i] < 0 || points[i] >= points[i + 1]) in.invalid("slice_point must rise");
    out.push_back(slice(in[0], axis, points[i], points[i + 1]));
  }
  return out;
}

/// The extents of the second input, from an offset on.
Exprs crop(LayerNode& in) {
  Ints from = in.static_shape(in[0], "a crop"), to = in.static_shape(in[1], "a crop");
  const int axis = in.axis(in.integer("axis", 2), from.size());
  const size_t count = from.size() - static_cast<size_t>(axis);
  Ints offsets = in.fields().list("offset").empty() ? Ints(count, 0) : in.integers("offset", count, 0);
  Expr out = in[0];
  for (size_t i = 0; i < count; ++i) {
    const size_t at = static_cast<size_t>(axis) + i;
    if (offsets[i] < 0 || offsets[i] > from[at] - to[at]) in.invalid("the crop lies outside of the data");
    out = slice(out, static_cast<int>(at), offsets[i], offsets[i] + to[at]);
  }
  return {out};
}

Exprs flatten(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  const int begin = in.axis(in.integer("axis", 1), rank), end = in.axis(in.integer("end_axis", -1), rank);
  if (begin > end) in.invalid("the axes end before they begin");
  return {merged(in[0], begin, end + 1)};
}

Exprs permute(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  std::vector<int64_t> order;
  for (int64_t axis : in.fields().integers("order")) order.push_back(in.axis(axis, rank));
  for (size_t i = 0; i < rank; ++i)  // those that are not named follow
    if (std::find(order.begin(), order.end(), static_cast<int64_t>(i)) == order.end())
      order.push_back(static_cast<int64_t>(i));
  if (order.size() != rank) in.invalid("an axis comes twice");
  return {transpose(in[0], int_array(order))};
}

/// Numbers for the dimensions from `axis` on: 0 keeps one, -1 is what remains.
Exprs reshape_layer(LayerNode& in) {
  Ints from = in.static_shape(in[0], "a reshape"), given = in.fields().object("shape").integers("dim");
  const auto rank = static_cast<int64_t>(from.size());
  int64_t begin = in.integer("axis", 0), count = in.integer("num_axes", -1);
  if (begin < 0) begin += rank + 1;
  const int64_t end = count == -1 ? rank : begin + count;
  if (begin < 0 || begin > rank || count < -1 || end > rank) in.invalid("the axes lie outside of the data");
  std::vector<int64_t> to(from.begin(), from.begin() + begin);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] < -1) in.invalid("an extent is below -1");
    if (given[i] == 0 && begin + static_cast<int64_t>(i) >= end) in.invalid("there is no dimension to keep");
    to.push_back(given[i] == 0 ? from[static_cast<size_t>(begin) + i] : given[i]);
  }
  to.insert(to.end(), from.begin() + end, from.end());
  return {reshape_to(in[0], to)};
}

/// All dimensions from the axis on become one number.
Exprs reduction(LayerNode& in) {
  const std::string operation = in.text("operation", "SUM");
  const int axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
  const double coefficient = in.number("coeff", 1);
  std::vector<int64_t> axes;
  for (size_t i = static_cast<size_t>(axis); i < in.rank(in[0]); ++i) axes.push_back(static_cast<int64_t>(i));
  Expr x = operation == "ASUM" ? call_op("abs", {in[0]}) : operation == "SUMSQ" ? multiply(in[0], in[0]) : in[0];
  Expr out = operation == "MEAN" ? mean(x, int_array(axes)) : sum(x, int_array(axes));
  return {coefficient == 1 ? out : multiply(out, make_scalar(coefficient, in.dtype(in[0])))};
}

Exprs tile(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  const int64_t tiles = in.integer("tiles");
  if (tiles < 1 || tiles > 1 << 20) in.invalid("tiles is " + std::to_string(tiles));
  std::vector<int64_t> times(rank, 1);
  times[static_cast<size_t>(in.axis(in.integer("axis", 1), rank))] = tiles;
  return {onnx::apply(in, "Tile", {in[0], make_ints(times)})};
}

/// The index of the largest element of each sample, as a float.
Exprs arg_max(LayerNode& in) {
  if (in.integer("top_k", 1) != 1) in.unsupported("top_k");
  if (in.flag("out_max_val")) in.unsupported("out_max_val");
  if (in.fields().has("axis"))
    return {cast(onnx::apply(in, "ArgMax", {in[0]}, {{"axis", in.integer("axis")}, {"keepdims", 1}}), in.dtype(in[0]))};
  Expr flat = typed(merged(in[0], 1, static_cast<int>(in.rank(in[0]))));
  Expr index = onnx::apply(in, "ArgMax", {flat}, {{"axis", 1}, {"keepdims", 1}});
  return {cast(expand_dims(index, 2), in.dtype(in[0]))};
}

}  // namespace

LayerRows shape_rows() {
  return {
      {"ArgMax", arg_max},        {"Concat", concat},   {"Crop", crop},
      {"Flatten", flatten},       {"Permute", permute}, {"Reduction", reduction},
      {"Reshape", reshape_layer}, {"Slice", slices},    {"Tile", tile},
  };
}

}  // namespace tessera::caffe
