// Boxes chosen among those that overlap.

#include "frontend/tensorflow/nms.h"

#include <cmath>
#include <limits>

#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
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

std::vector<int64_t> counted_to(int64_t end) {
  std::vector<int64_t> out(static_cast<size_t>(end));
  for (int64_t i = 0; i < end; ++i) out[static_cast<size_t>(i)] = i;
  return out;
}

/// Scores by falling value and where each stood, those that are not chosen at the end.
std::pair<Expr, Expr> by_score(const Expr& scores, const Expr& is_chosen, int64_t count) {
  Expr none = make_scalar(-std::numeric_limits<float>::infinity(), DataType::Float(32));
  Expr both =
      call_op("topk", {reshape_to(where(is_chosen, scores, none), {count})}, make_attrs<TopkAttrs>([&](auto& attrs) {
                attrs.k = PrimExpr(static_cast<int>(count));
                attrs.dtype = DataType::Int(64);
              }));
  return {make_get_item(both, 0), make_get_item(both, 1)};
}

/// Rows stand class by class: those of all classes by falling score.
Chosen sorted(const NodeContext& in, const Chosen& chosen) {
  const int64_t count = in.static_shape(chosen.scores, "the number of boxes")[0];
  auto [scores, order] = by_score(chosen.scores, less(make_ints(counted_to(count)), chosen.count), count);
  return {take(chosen.rows, order, 0), scores, chosen.count};
}

/// What is left of each image: rows (class, box), their scores and how many they are. Inputs have a first dimension of images.
struct Kept {
  Expr rows, scores, count;
};
Kept kept_of(const NodeContext& in, const Nms& nms) {
  const DataType wide = DataType::Float(32);
  Expr all =
      call_op("vision.all_class_non_max_suppression",
              {with_ordered_corners(cast_if_needed(in, nms.boxes, wide), 2), cast_if_needed(in, nms.scores, wide),
               make_scalar(static_cast<double>(std::min<int64_t>(nms.most, INT32_MAX)), DataType::Int(32)),
               just_above(in, nms.iou), nms.score},
              make_attrs<AllClassNonMaximumSuppressionAttrs>([](auto& attrs) { attrs.output_format = "tensorflow"; }));
  return {make_get_item(all, 0), make_get_item(all, 1), make_get_item(all, 2)};
}

}  // namespace

Expr with_ordered_corners(const Expr& boxes, int axis) {
  Expr parts = split(boxes, 4, axis);
  auto part = [&](int i) { return make_get_item(parts, i); };
  return concatenate(
      {minimum(part(0), part(2)), minimum(part(1), part(3)), maximum(part(0), part(2)), maximum(part(1), part(3))},
      axis);
}

Expr just_below(const NodeContext& in, const Expr& x) {
  if (std::optional<double> known = in.constant_number(x))
    return make_scalar(std::nextafter(static_cast<float>(*known), -std::numeric_limits<float>::infinity()),
                       DataType::Float(32));
  return subtract(x, multiply(call_op("abs", {x}), make_scalar(std::ldexp(1.5, -24), DataType::Float(32))));
}

Chosen non_max_suppression(const NodeContext& in, const Nms& nms) {
  Kept kept = kept_of(in, {expand_dims(nms.boxes, 0), expand_dims(nms.scores, 0), nms.most, nms.iou, nms.score});
  auto of_image = [](const Expr& x) { return squeeze(x, int_array({0})); };
  Chosen out{of_image(kept.rows), of_image(kept.scores), of_image(kept.count)};
  const int64_t* classes = as_int(in.shape(nms.scores)[0]);
  return classes && *classes == 1 ? out : sorted(in, out);
}

Expr first_rows(const NodeContext& in, const Expr& x, int64_t count, const Expr& valid) {
  const Array<PrimExpr> shape = in.shape(x);
  const int64_t* rows = as_int(shape[0]);
  std::vector<int64_t> before(shape.size(), 0), after(shape.size(), 0), positions;
  after[0] = rows ? std::max<int64_t>(count - *rows, 0) : count;
  Expr out = pad_with(x, before, after, 0);
  if (!rows || *rows > count) out = slice(out, 0, 0, count);
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
  Expr boxes, scores;  // which stay, int32
  Expr count;
  int64_t most;
};
Suppressed suppressed(Operation& in) {
  Ints most = in.ints(2, "how many boxes may stay");
  if (most.size() != 1 || most[0] < 0) in.invalid("how many boxes may stay is one number");
  const double none = -std::numeric_limits<float>::infinity();
  if (in.rank(in[0]) != 2 || in.rank(in[1]) != 1) in.invalid("boxes are (boxes, 4) and scores (boxes,)");
  Expr iou = in.has(3) ? scalar_or(in, 3, 0.5) : make_scalar(in.number("iou_threshold", 0.5), DataType::Float(32));
  if (const double sigma = in.has(5) ? in.real(5, "the width of soft suppression") : 0; sigma > 0) {
    SoftlyChosen chosen = soft_suppression(in, in[0], in[1], {most[0], iou, scalar_or(in, 4, none), sigma});
    return {chosen.boxes, chosen.scores, extent_at_run_time(in, chosen.boxes, 0), most[0]};
  }
  Chosen chosen = non_max_suppression(in, {in[0], expand_dims(in[1], 0), most[0], iou, scalar_or(in, 4, none)});
  Expr boxes = squeeze(slice(chosen.rows, 1, 1, 2), int_array({1}));
  return {cast(boxes, DataType::Int(32)), chosen.scores, chosen.count, most[0]};
}

Expr counted(Operation& in, const Expr& x, const Expr& count) {
  Expr end = reshape(cast_if_needed(in, count, DataType::Int(64)), int_array({1}));
  return call_op("dyn.strided_slice", {x, make_ints({0}), end, make_ints({1})},
                 make_attrs<StridedSliceAttrs>([](auto&) {}));
}

Values nms_plain(Operation& in) {
  Suppressed out = suppressed(in);
  return {counted(in, out.boxes, out.count)};
}

/// Which stay and how many they are; with `always_pads` as many as may be.
Values nms_counted(Operation& in, bool always_pads) {
  Suppressed out = suppressed(in);
  const bool pads = always_pads || in.flag("pad_to_max_output_size");
  Expr boxes = pads ? first_rows(in, out.boxes, out.most, out.count) : counted(in, out.boxes, out.count);
  Expr scores = pads ? first_rows(in, out.scores, out.most, out.count) : counted(in, out.scores, out.count);
  Expr count = cast(out.count, DataType::Int(32));
  const bool has_scores = in.name() == "NonMaxSuppressionV5" || in.name() == "NON_MAX_SUPPRESSION_V5";
  return has_scores ? Values{boxes, scores, count} : Values{boxes, count};
}

/// The same where each class has boxes (classes, boxes, 4) of its own: classes are as images of one class.
Chosen non_max_suppression_by_class(const NodeContext& in, const Nms& nms) {
  const Ints shape = in.static_shape(nms.scores, "scores");
  const int64_t classes = shape[0], boxes = shape[1], count = classes * boxes;
  Kept kept = kept_of(in, {nms.boxes, expand_dims(nms.scores, 1), nms.most, nms.iou, nms.score});
  Expr is_chosen = less(make_ints(counted_to(boxes)), expand_dims(kept.count, 1));
  auto [scores, order] = by_score(kept.scores, is_chosen, count);
  Expr which = call_op("floor_divide", {order, make_scalar(static_cast<double>(boxes), DataType::Int(64))});
  Expr box = take(reshape_to(slice(kept.rows, 2, 1, 2), {count}), order, 0);
  return {stack({which, box}, 1), scores, reduce("sum", kept.count, int_array({0}), false)};
}

/// Inputs: boxes (batch, boxes, 1 or classes, 4), scores (batch, boxes, classes), limits and thresholds.
Values nms_combined(Operation& in) {
  Ints shape = in.static_shape(in[0], "boxes"), scored = in.static_shape(in[1], "scores");
  if (shape.size() != 4 || scored.size() != 3) in.invalid("boxes have four dimensions and scores three");
  if (shape[2] != 1 && shape[2] != scored[2]) in.invalid("boxes are of one class or of each");
  const bool shares = shape[2] == 1;  // one set of boxes for all classes
  const int64_t each = in.ints(2, "the boxes of a class")[0];
  int64_t total = in.ints(3, "the boxes of an image")[0];
  if (in.flag("pad_per_class")) total = std::min(total, each * scored[2]);
  Array<Expr> out[4];
  for (int64_t image = 0; image < shape[0]; ++image) {
    Expr boxes = reshape_to(slice(in[0], 0, image, image + 1), {shape[1], shape[2], 4});
    boxes = shares ? reshape_to(boxes, {shape[1], 4}) : transpose(boxes, int_array({1, 0, 2}));
    Expr scores = transpose(squeeze(slice(in[1], 0, image, image + 1), int_array({0})));
    const Nms nms{boxes, scores, each, scalar_or(in, 4, 0.5), scalar_or(in, 5, 0)};
    Chosen chosen = shares ? non_max_suppression(in, nms) : non_max_suppression_by_class(in, nms);
    Expr valid = minimum(chosen.count, make_constant(int_scalar(total, DataType::Int(64))));
    Expr rows = first_rows(in, chosen.rows, total, valid);
    auto column = [&](int i) { return squeeze(slice(rows, 1, i, i + 1), int_array({1})); };
    Expr corners = shares ? take(boxes, column(1), 0)
                          : call_op("gather_nd", {boxes, transpose(rows)}, make_attrs<GatherNDAttrs>([](auto&) {}));
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
