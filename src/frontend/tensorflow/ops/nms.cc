// Boxes chosen among those that overlap.

#include "frontend/tensorflow/nms.h"

#include <cmath>
#include <limits>

#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/attrs/vision.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

namespace {

/// The next greater float: Relay suppresses from a threshold on, TensorFlow above it.
Expr just_above(const NodeContext& in, const Expr& x) {
  if (std::optional<double> known = in.constant_number(x))
    return make_scalar(std::nextafter(static_cast<float>(*known), std::numeric_limits<float>::infinity()),
                       DataType::Float(32));
  Expr next = add(x, multiply(call_op("abs", {x}), make_scalar(std::ldexp(1.5, -24), DataType::Float(32))));
  return maximum(next, make_scalar(std::ldexp(1.0, -126), DataType::Float(32)));
}

/// Boxes whose first corner is the lesser in both dimensions.
Expr with_ordered_corners(const Expr& boxes, int axis) {
  Expr parts = split(boxes, 4, axis);
  auto part = [&](int i) { return make_get_item(parts, i); };
  return concatenate(
      {minimum(part(0), part(2)), minimum(part(1), part(3)), maximum(part(0), part(2)), maximum(part(1), part(3))},
      axis);
}

/// Rows stand class by class: those of all classes by falling score.
Chosen sorted(const NodeContext& in, const Chosen& chosen) {
  std::vector<int64_t> positions(static_cast<size_t>(in.static_shape(chosen.scores, "the number of boxes")[0]));
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
  Expr is_chosen = less(make_ints(positions), chosen.count);
  Expr scores =
      where(is_chosen, chosen.scores, make_scalar(-std::numeric_limits<float>::infinity(), DataType::Float(32)));
  Expr both = call_op("topk", {scores}, make_attrs<TopkAttrs>([&](auto& attrs) {
                        attrs.k = PrimExpr(static_cast<int>(positions.size()));
                        attrs.dtype = DataType::Int(64);
                      }));
  return {take(chosen.rows, make_get_item(both, 1), 0), make_get_item(both, 0), chosen.count};
}

}  // namespace

Expr just_below(const NodeContext& in, const Expr& x) {
  if (std::optional<double> known = in.constant_number(x))
    return make_scalar(std::nextafter(static_cast<float>(*known), -std::numeric_limits<float>::infinity()),
                       DataType::Float(32));
  return subtract(x, multiply(call_op("abs", {x}), make_scalar(std::ldexp(1.5, -24), DataType::Float(32))));
}

Chosen non_max_suppression(const NodeContext& in, const Nms& nms) {
  const DataType wide = DataType::Float(32);
  Expr boxes = expand_dims(with_ordered_corners(cast_if_needed(in, nms.boxes, wide), 1), 0);
  Expr scores = expand_dims(cast_if_needed(in, nms.scores, wide), 0);
  Expr all = call_op(
      "vision.all_class_non_max_suppression",
      {boxes, scores, make_scalar(static_cast<double>(std::min<int64_t>(nms.most, INT32_MAX)), DataType::Int(32)),
       just_above(in, nms.iou), nms.score},
      make_attrs<AllClassNonMaximumSuppressionAttrs>([](auto& attrs) { attrs.output_format = "tensorflow"; }));
  auto of_image = [&](int i) { return squeeze(make_get_item(all, i), int_array({0})); };
  Chosen out{of_image(0), of_image(1), of_image(2)};
  const int64_t* classes = as_int(in.shape(nms.scores)[0]);
  return classes && *classes == 1 ? out : sorted(in, out);
}

Expr first_rows(const NodeContext& in, const Expr& x, int64_t count, const Expr& valid) {
  const Array<PrimExpr> shape = in.shape(x);
  const int64_t* rows = as_int(shape[0]);
  if (!rows) in.unknown("the number of boxes must be known", x);
  Expr out = *rows > count ? slice(x, 0, 0, count) : x;
  std::vector<int64_t> before(shape.size(), 0), after(shape.size(), 0), positions;
  after[0] = std::max<int64_t>(count - *rows, 0);
  out = pad_with(out, before, after, 0);
  for (int64_t i = 0; i < count; ++i) positions.push_back(i);
  Expr is_valid = less(make_ints(positions), cast_if_needed(in, valid, DataType::Int(64)));
  if (shape.size() > 1) is_valid = expand_dims(is_valid, 1, static_cast<int>(shape.size()) - 1);
  return where(is_valid, out, make_scalar(0, in.dtype(x)));
}

namespace {

Expr scalar_or(Operation& in, size_t i, double otherwise) {
  return in.has(i) ? cast_if_needed(in, in.scalar(i), DataType::Float(32))
                   : make_scalar(otherwise, DataType::Float(32));
}

/// Inputs: boxes, scores, how many at most, the overlap, the score, the width of soft suppression.
struct Suppressed {
  Chosen chosen;
  Expr boxes;  // which stay, int32
  int64_t most;
};
Suppressed suppressed(Operation& in) {
  Ints most = in.ints(2, "how many boxes may stay");
  if (most.size() != 1 || most[0] < 0) in.invalid("how many boxes may stay is one number");
  if (in.has(5) && in.real(5, "the width of soft suppression") != 0) in.unsupported("soft suppression");
  const double none = -std::numeric_limits<float>::infinity();
  if (in.rank(in[0]) != 2 || in.rank(in[1]) != 1) in.invalid("boxes are (boxes, 4) and scores (boxes,)");
  Expr iou = in.has(3) ? scalar_or(in, 3, 0.5) : make_scalar(in.number("iou_threshold", 0.5), DataType::Float(32));
  Chosen chosen = non_max_suppression(in, {in[0], expand_dims(in[1], 0), most[0], iou, scalar_or(in, 4, none)});
  Expr boxes = squeeze(slice(chosen.rows, 1, 1, 2), int_array({1}));
  return {chosen, cast(boxes, DataType::Int(32)), most[0]};
}

Expr counted(Operation& in, const Expr& x, const Expr& count) {
  Expr end = reshape(cast_if_needed(in, count, DataType::Int(64)), int_array({1}));
  return call_op("dyn.strided_slice", {x, make_ints({0}), end, make_ints({1})},
                 make_attrs<StridedSliceAttrs>([](auto&) {}));
}

Values nms_plain(Operation& in) {
  Suppressed out = suppressed(in);
  return {counted(in, out.boxes, out.chosen.count)};
}

/// Which stay and how many they are; with `always_pads` as many as may be.
Values nms_counted(Operation& in, bool always_pads) {
  Suppressed out = suppressed(in);
  const bool pads = always_pads || in.flag("pad_to_max_output_size");
  Expr boxes = pads ? first_rows(in, out.boxes, out.most, out.chosen.count) : counted(in, out.boxes, out.chosen.count);
  Expr scores = pads ? first_rows(in, out.chosen.scores, out.most, out.chosen.count)
                     : counted(in, out.chosen.scores, out.chosen.count);
  Expr count = cast(out.chosen.count, DataType::Int(32));
  const bool has_scores = in.name() == "NonMaxSuppressionV5" || in.name() == "NON_MAX_SUPPRESSION_V5";
  return has_scores ? Values{boxes, scores, count} : Values{boxes, count};
}

/// Inputs: boxes (batch, boxes, 1 or classes, 4), scores (batch, boxes, classes), limits and thresholds.
Values nms_combined(Operation& in) {
  Ints shape = in.static_shape(in[0], "boxes"), scored = in.static_shape(in[1], "scores");
  if (shape.size() != 4 || scored.size() != 3) in.invalid("boxes have four dimensions and scores three");
  if (shape[2] != 1 && shape[2] != scored[2]) in.invalid("boxes are of one class or of each");
  if (shape[2] != 1) in.unsupported("boxes of their own for each class");
  const int64_t each = in.ints(2, "the boxes of a class")[0];
  int64_t total = in.ints(3, "the boxes of an image")[0];
  if (in.flag("pad_per_class")) total = std::min(total, each * scored[2]);
  Array<Expr> out[4];
  for (int64_t image = 0; image < shape[0]; ++image) {
    Expr boxes = reshape_to(slice(in[0], 0, image, image + 1), {shape[1], 4});
    Expr scores = transpose(squeeze(slice(in[1], 0, image, image + 1), int_array({0})));
    Chosen chosen = non_max_suppression(in, {boxes, scores, each, scalar_or(in, 4, 0.5), scalar_or(in, 5, 0)});
    Expr valid = minimum(chosen.count, make_constant(int_scalar(total, DataType::Int(64))));
    Expr rows = first_rows(in, chosen.rows, total, valid);
    auto column = [&](int i) { return squeeze(slice(rows, 1, i, i + 1), int_array({1})); };
    Expr corners = take(boxes, column(1), 0);
    if (in.flag("clip_boxes", true)) corners = clip(corners, 0, 1);
    out[0].push_back(first_rows(in, corners, total, valid));
    out[1].push_back(first_rows(in, chosen.scores, total, valid));
    out[2].push_back(cast(column(0), DataType::Float(32)));
    out[3].push_back(cast(valid, DataType::Int(32)));
  }
  Values results;
  for (const Array<Expr>& parts : out) results.push_back(stack(parts, 0));
  return results;
}

}  // namespace

Rows nms_rows() {
  auto counted_rows = [](Operation& in) { return nms_counted(in, false); };
  auto padded_rows = [](Operation& in) { return nms_counted(in, true); };
  return {
      {"CombinedNonMaxSuppression", nms_combined, {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"}},
      {"NonMaxSuppression", nms_plain},
      {"NonMaxSuppressionPadded", padded_rows},
      {"NonMaxSuppressionV2", nms_plain},
      {"NonMaxSuppressionV3", nms_plain},
      {"NonMaxSuppressionV4", counted_rows, {"selected_indices", "valid_outputs"}},
      {"NonMaxSuppressionV5", counted_rows, {"selected_indices", "selected_scores", "valid_outputs"}},
  };
}

}  // namespace tessera::tensorflow
