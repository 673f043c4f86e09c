// Boxes chosen among those that overlap.

#include "frontend/tensorflow/nms.h"

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
    const bool is_lite = in.name() == "NON_MAX_SUPPRESSION_V5";  // which leaves out what overlaps too much as well
    SoftlyChosen chosen =
        soft_suppression(in, in[0], in[1], {most[0], is_lite ? iou : Expr(), scalar_or(in, 4, none), sigma});
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
