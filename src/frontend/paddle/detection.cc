// Detectors: boxes of YOLO, boxes relative to others, and those that do not overlap.

#include "frontend/common/detections.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls

const DataType kFloat = DataType::Float(32);

Expr number(double value) { return make_scalar(value, kFloat); }

/// Where the cells of an axis of an image begin, as (..., extent, ...) of four dimensions.
Expr cells_of(int64_t extent, size_t axis) {
  std::vector<double> values;
  for (int64_t i = 0; i < extent; ++i) values.push_back(static_cast<double>(i));
  std::vector<int64_t> shape(4, 1);
  shape[axis] = extent;
  return numbers_of(values, shape, kFloat);
}

/// What a head of YOLO says (images, anchors * (5 + classes), rows, columns) as corners (images, boxes, 4) and scores
/// (images, boxes, classes); boxes of little confidence are zero. With `iou_aware` a channel an anchor comes first.
Exprs yolo_box(LayerNode& in) {
  const Expr data = in.slot("X");
  const Ints shape = in.static_shape(data, "yolo_box"), sizes = in.fields().integers("anchors");
  const int64_t classes = in.integer("class_num"), anchors = static_cast<int64_t>(sizes.size()) / 2;
  const bool is_aware = in.flag("iou_aware");
  if (shape.size() != 4 || anchors < 1 || sizes.size() % 2 || classes < 1 || classes > shape[1])
    in.invalid("the anchors");
  if (shape[1] != anchors * (5 + classes + (is_aware ? 1 : 0)))
    in.invalid("the channels do not fit anchors and classes");
  const int64_t images = shape[0], rows = shape[2], columns = shape[3], boxes = anchors * rows * columns;
  Expr heads = is_aware ? slice(data, 1, anchors, shape[1]) : data;
  heads = typed(reshape_to(heads, {images, anchors, 5 + classes, rows, columns}));
  auto channel = [&](int64_t i) { return squeeze(slice(heads, 2, i, i + 1), int_array({2})); };

  Expr confidence = sigmoid(channel(4));
  if (is_aware) {
    const double factor = in.number("iou_aware_factor", 0.5);
    confidence =
        multiply(power(confidence, number(1 - factor)), power(sigmoid(slice(data, 1, 0, anchors)), number(factor)));
  }
  confidence = typed(confidence);
  Expr is_sure = call_op("greater_equal", {confidence, number(in.number("conf_thresh", 0.01))});

  // Sizes of the images, (images, 1, 1, 1) each.
  Expr pixels = cast_if_needed(in, in.slot("ImgSize"), kFloat);
  auto extent = [&](int64_t i) { return reshape_to(slice(pixels, 1, i, i + 1), {images, 1, 1, 1}); };
  Expr height = typed(extent(0)), width = typed(extent(1));
  const double scale = in.number("scale_x_y", 1), ratio = static_cast<double>(in.integer("downsample_ratio", 32));
  auto middle = [&](int64_t i, const Expr& cells, int64_t count, const Expr& size) {
    Expr at = add(add(multiply(sigmoid(channel(i)), number(scale)), number(-0.5 * (scale - 1))), cells);
    return multiply(at, divide(size, number(static_cast<double>(count))));
  };
  auto half = [&](int64_t i, int64_t count, const Expr& size) {
    std::vector<double> of_anchor;
    for (int64_t k = 0; k < anchors; ++k)
      of_anchor.push_back(static_cast<double>(sizes[static_cast<size_t>(2 * k + i)]) * 0.5 /
                          (ratio * static_cast<double>(count)));
    Expr shares = numbers_of(of_anchor, {1, anchors, 1, 1}, kFloat);
    return multiply(multiply(exp(channel(i + 2)), shares), size);
  };
  Expr x = middle(0, cells_of(columns, 3), columns, width), y = middle(1, cells_of(rows, 2), rows, height);
  Expr w = half(0, columns, width), h = half(1, rows, height);
  Exprs corners{subtract(x, w), subtract(y, h), add(x, w), add(y, h)};
  if (in.flag("clip_bbox", true)) {
    for (size_t i = 0; i < 2; ++i) corners[i] = maximum(corners[i], number(0));
    corners[2] = minimum(corners[2], subtract(width, number(1)));
    corners[3] = minimum(corners[3], subtract(height, number(1)));
  }
  Array<Expr> parts;
  for (const Expr& corner : corners) parts.push_back(where(is_sure, corner, number(0)));
  Expr scores =
      multiply(sigmoid(slice(heads, 2, 5, 5 + classes)), expand_dims(where(is_sure, confidence, number(0)), 2));
  scores = reshape_to(transpose(scores, int_array({0, 1, 3, 4, 2})), {images, boxes, classes});
  return in.results({{"Boxes", {reshape_to(stack(parts, 4), {images, boxes, 4})}}, {"Scores", {scores}}});
}

/// Moves (rows, columns, 4) relative to prior boxes, one for each column (axis 0) or row, as corners.
Exprs box_coder(LayerNode& in) {
  if (in.text("code_type", "encode_center_size") != "decode_center_size") in.unsupported("boxes that are encoded");
  const int64_t axis = in.integer("axis", 0);
  if (axis != 0 && axis != 1) in.invalid("axis is 0 or 1");
  auto lifted = [&](const Expr& x) { return typed(expand_dims(x, static_cast<int>(axis))); };
  const double last = in.flag("box_normalized", true) ? 0 : 1;  // a box reaches to the end of its last pixel
  Expr prior = lifted(in.slot("PriorBox")), move = in.slot("TargetBox");
  if (in.has_slot("PriorBoxVar")) {
    move = multiply(move, lifted(in.slot("PriorBoxVar")));
  } else if (const std::vector<double> variance = in.fields().numbers("variance"); !variance.empty()) {
    if (variance.size() != 4) in.invalid("there are four variances");
    move = multiply(move, numbers_of(variance, {4}, kFloat));
  }
  auto part = [](const Expr& x, int64_t i) { return slice(x, 2, i, i + 1); };
  auto reach = [&](int64_t i) { return add(subtract(part(prior, i + 2), part(prior, i)), number(last)); };
  auto side = [&](int64_t i) {
    Expr size = reach(i), half = number(0.5);
    Expr middle = add(multiply(part(move, i), size), add(part(prior, i), multiply(size, half)));
    Expr to_side = multiply(multiply(exp(part(move, i + 2)), size), half);
    return std::pair(subtract(middle, to_side), subtract(add(middle, to_side), number(last)));
  };
  move = typed(move);
  auto [left, right] = side(0);
  auto [top, bottom] = side(1);
  return only(in, concatenate({left, top, right, bottom}, 2), "OutputBox");
}

/// Rows (class, score, corners) of all images one after another, where each stood, and how many an image has.
Exprs multiclass_nms(LayerNode& in) {
  const Expr boxes = in.slot("BBoxes"), scores = in.slot("Scores");
  if (in.has_slot("RoisNum") || in.rank(scores) != 3) in.unsupported("regions of several images in one tensor");
  if (in.number("nms_eta", 1) != 1) in.unsupported("an overlap that adapts");
  const Ints shape = in.static_shape(scores, "a detector"), of_boxes = in.static_shape(boxes, "a detector");
  if (of_boxes != Ints{shape[0], shape[2], 4}) in.unsupported("boxes of other than four corners");
  const int64_t background = in.integer("background_label", 0);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < shape[1]; ++i)
    if (i != background) labels.push_back(i);
  if (labels.empty()) in.invalid("there is no class but the background");
  const DataType whole = DataType::Int(32);
  Detector detector;
  detector.boxes = typed(expand_dims(boxes, 1));
  detector.scores =
      static_cast<int64_t>(labels.size()) == shape[1] ? scores : typed(take(scores, make_ints(labels, whole), 1));
  detector.iou = in.number("nms_threshold", 0.3), detector.score = in.number("score_threshold", 0);
  detector.looked_at = in.integer("nms_top_k", -1), detector.most = in.integer("keep_top_k", -1);
  detector.in_pixels = !in.flag("normalized", true);
  Detections found = detections_of(in, detector);

  Expr valid = cast(found.valid, whole), count = reshape_to(sum(cast(valid, DataType::Int(64))), {1});
  auto counted = [&](const Expr& x) {
    const auto rank = static_cast<int64_t>(in.rank(x));
    Expr end = rank == 1 ? count : concatenate({count, make_ints({in.static_shape(x, "rows")[1]})}, 0);
    return call_op("dyn.strided_slice",
                   {x, make_ints(std::vector<int64_t>(static_cast<size_t>(rank), 0)), end,
                    make_ints(std::vector<int64_t>(static_cast<size_t>(rank), 1))},
                   make_attrs<StridedSliceAttrs>([](auto&) {}));
  };
  Expr label = cast(take(make_ints(labels, whole), found.of_class, 0), kFloat);
  Expr rows = typed(concatenate({expand_dims(label, 1), expand_dims(found.scores, 1), found.corners}, 1));
  Expr index =
      typed(expand_dims(add(multiply(found.image, make_scalar(static_cast<double>(shape[2]), whole)), found.box), 1));
  std::vector<int64_t> images(static_cast<size_t>(shape[0]));
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<int64_t>(i);
  Expr is_of_image = cast(equal(expand_dims(found.image, 0), expand_dims(make_ints(images, whole), 1)), whole);
  Expr each = sum(multiply(is_of_image, expand_dims(valid, 0)), int_array({1}));
  return in.results({{"Out", {counted(rows)}}, {"Index", {counted(index)}}, {"NmsRoisNum", {each}}});
}

}  // namespace

LayerRows detection_rows() {
  return {
      {"box_coder", box_coder},
      {"multiclass_nms", multiclass_nms},
      {"multiclass_nms2", multiclass_nms},
      {"multiclass_nms3", multiclass_nms},
      {"yolo_box", yolo_box},
  };
}

}  // namespace tessera::paddle
