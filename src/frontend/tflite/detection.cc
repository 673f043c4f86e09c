// The custom operator TFLite_Detection_PostProcess: boxes from what a detector says of its anchors.

#include <cmath>

#include "frontend/common/nms.h"
#include "frontend/common/parts.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/quantize.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tflite {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr number(double value) { return make_scalar(value, DataType::Float(32)); }
/// Corners (y, x, y, x) of boxes that are given by centre and size relative to anchors.
Expr decoded(Node& in, const Expr& codes, const Expr& anchors) {
  Expr code = split(codes, 4, 1), anchor = split(anchors, 4, 1);
  auto part = [](const Expr& parts, int i) { return make_get_item(parts, i); };
  auto centre = [&](int i, const char* scale) {
    return add(multiply(divide(part(code, i), number(in.number(scale, 1))), part(anchor, i + 2)), part(anchor, i));
  };
  auto half = [&](int i, const char* scale) {
    return multiply(multiply(exp(divide(part(code, i), number(in.number(scale, 1)))), part(anchor, i)), number(0.5));
  };
  Expr y = centre(0, "y_scale"), x = centre(1, "x_scale"), h = half(2, "h_scale"), w = half(3, "w_scale");
  return concatenate({subtract(y, h), subtract(x, w), add(y, h), add(x, w)}, 1);
}

/// Inputs: boxes (1, anchors, 4), scores (1, anchors, classes), anchors (anchors, 4).
Values detection_postprocess(Node& in) {
  Ints shape = in.static_shape(in[1], "the scores of a detector");
  if (shape.size() != 3 || shape[0] != 1) in.unsupported("more than one image");
  const int64_t classes = in.integer("num_classes", shape[2]), most = in.integer("max_detections", 10);
  if (classes < 1 || classes > shape[2] || most < 1 || most > 1'000'000) in.invalid("max_detections or num_classes");
  const bool is_regular = in.flag("use_regular_nms", false);
  if (!is_regular && in.integer("max_classes_per_detection", 1) != 1)
    in.unsupported("more than one class for a detection");
  Ints codes = in.static_shape(in[0], "the boxes of a detector");
  if (codes.size() != 3 || codes[2] < 4) in.invalid("the boxes of a detector are (1, anchors, 4)");
  Expr box_codes = slice(squeeze(floats(in, 0), int_array({0})), 1, 0, 4);
  Expr boxes = decoded(in, box_codes, floats(in, 2));
  // The first class may be the background.
  Expr scores = slice(squeeze(floats(in, 1), int_array({0})), 1, shape[2] - classes, shape[2]);
  Expr iou = number(in.number("nms_iou_threshold", 0.5));
  Expr least = just_below(in, number(in.number("nms_score_threshold", 0)));
  Expr best;
  Chosen chosen;
  if (is_regular) {
    chosen = non_max_suppression(in, {boxes, transpose(scores), in.integer("detections_per_class", 100), iou, least});
  } else {
    best = call_op("argmax", {scores}, make_attrs<ArgReduceAttrs>([](auto& attrs) { attrs.axis = int_array({1}); }));
    chosen = non_max_suppression(in, {boxes, expand_dims(reduce("max", scores, int_array({1})), 0), most, iou, least});
  }
  Expr valid = minimum(chosen.count, make_constant([&] {
                         NDArray out = NDArray::empty(std::vector<int64_t>{}, DataType::Int(64));
                         *out.data<int64_t>() = most;
                         return out;
                       }()));
  Expr rows = first_rows(in, chosen.rows, most, valid);
  auto column = [&](int i) { return squeeze(slice(rows, 1, i, i + 1), int_array({1})); };
  Expr of_box = column(1);
  Expr kind = is_regular ? column(0) : take(best, of_box, 0);
  auto finished = [&](const Expr& x) { return expand_dims(first_rows(in, x, most, valid), 0); };
  return {finished(take(boxes, of_box, 0)), finished(cast(kind, DataType::Float(32))), finished(chosen.scores),
          cast(reshape(valid, int_array({1})), DataType::Float(32))};
}

}  // namespace

std::vector<CustomRow> detection_rows() { return {{"TFLite_Detection_PostProcess", detection_postprocess}}; }

}  // namespace tessera::tflite
