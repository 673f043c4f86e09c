// Layers of SSD: prior boxes, the norm over channels, and what is detected.

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/caffe/caffe.h"
#include "frontend/common/detections.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::caffe {
namespace {

using namespace relay;  // NOLINT: makers of calls

constexpr int64_t kMaxValues = int64_t{1} << 24;  // numbers of one layer's boxes

/// Width and height, in pixels, of the boxes at each position.
std::vector<std::pair<double, double>> sizes_of(LayerNode& in) {
  const std::vector<double> least = in.fields().numbers("min_size"), most = in.fields().numbers("max_size");
  if (least.empty()) in.invalid("min_size is missing");
  if (!most.empty() && most.size() != least.size()) in.invalid("max_size and min_size are of one length");
  std::vector<double> ratios{1};
  auto add_ratio = [&](double ratio) {
    if (std::none_of(ratios.begin(), ratios.end(), [&](double known) { return std::abs(known - ratio) < 1e-6; }))
      ratios.push_back(ratio);
  };
  for (double ratio : in.fields().numbers("aspect_ratio")) {
    if (!(ratio > 0)) in.invalid("an aspect_ratio must be above zero");
    const size_t known = ratios.size();
    add_ratio(ratio);
    if (ratios.size() > known && in.flag("flip", true)) ratios.push_back(1 / ratio);
  }
  std::vector<std::pair<double, double>> out;
  for (size_t i = 0; i < least.size(); ++i) {
    out.emplace_back(least[i], least[i]);
    if (!most.empty()) {
      if (!(most[i] > least[i])) in.invalid("a max_size must be above its min_size");
      out.emplace_back(std::sqrt(least[i] * most[i]), std::sqrt(least[i] * most[i]));
    }
    for (size_t k = 1; k < ratios.size(); ++k)
      out.emplace_back(least[i] * std::sqrt(ratios[k]), least[i] / std::sqrt(ratios[k]));
  }
  return out;
}

/// Boxes around each position of the features, as shares of the image, and below them their variances. A constant.
Exprs prior_box(LayerNode& in) {
  const Ints cells = in.static_shape(in[0], "boxes"), pixels = in.static_shape(in[1], "boxes");
  if (cells.size() != 4 || pixels.size() != 4) in.invalid("features and image have four dimensions");
  const auto sizes = sizes_of(in);
  if (cells[2] * cells[3] > kMaxValues / static_cast<int64_t>(8 * sizes.size())) in.unsupported("so many boxes");
  auto given = [&](const char* both, const char* one) { return in.number(one, in.number(both, 0)); };
  const double height = given("img_size", "img_h") > 0 ? given("img_size", "img_h") : static_cast<double>(pixels[2]),
               width = given("img_size", "img_w") > 0 ? given("img_size", "img_w") : static_cast<double>(pixels[3]);
  const double step_h = given("step", "step_h") > 0 ? given("step", "step_h") : height / static_cast<double>(cells[2]),
               step_w = given("step", "step_w") > 0 ? given("step", "step_w") : width / static_cast<double>(cells[3]);
  const double offset = in.number("offset", 0.5);
  std::vector<double> variances = in.fields().numbers("variance", {0.1});
  if (variances.size() == 1) variances.resize(4, variances[0]);
  if (variances.size() != 4) in.invalid("there are one or four variances");
  std::vector<double> values;
  for (int64_t y = 0; y < cells[2]; ++y)
    for (int64_t x = 0; x < cells[3]; ++x)
      for (const auto& [w, h] : sizes) {
        const double middle_x = (static_cast<double>(x) + offset) * step_w,
                     middle_y = (static_cast<double>(y) + offset) * step_h;
        for (double corner : {(middle_x - w / 2) / width, (middle_y - h / 2) / height, (middle_x + w / 2) / width,
                              (middle_y + h / 2) / height})
          values.push_back(in.flag("clip", false) ? std::clamp(corner, 0.0, 1.0) : corner);
      }
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t i = 0; i < count; ++i) values.push_back(variances[static_cast<size_t>(i % 4)]);
  return {numbers_of(values, {1, 2, count}, DataType::Float(32))};
}

/// Channels by their Euclidean length, at each position or over all of them, times a learned scale.
Exprs normalize(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  if (rank < 2) in.invalid("there are no channels");
  std::vector<int64_t> axes{1};
  if (in.flag("across_spatial", true))
    for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  Expr squares =
      add(sum(multiply(in[0], in[0]), int_array(axes), true), make_scalar(in.number("eps", 1e-10), in.dtype(in[0])));
  std::vector<int64_t> channels(rank, 1);
  if (!in.flag("channel_shared", true)) channels[1] = -1;
  return {multiply(divide(in[0], sqrt(squares)), reshape_to(in.weight(0), channels))};
}

/// Corners of boxes (images, classes or 1, boxes, 4) from what the network says of the prior ones.
Expr decoded(LayerNode& in, const Expr& moves, const Expr& prior, const Expr& variance) {
  auto part = [](const Expr& x, int64_t i) { return slice(x, 3, i, i + 1); };
  const std::string code = in.text("code_type", "CORNER");
  Expr move = in.flag("variance_encoded_in_target") ? moves : multiply(moves, variance);
  if (code == "CORNER") return add(prior, move);
  Expr w = subtract(part(prior, 2), part(prior, 0)), h = subtract(part(prior, 3), part(prior, 1));
  if (code == "CORNER_SIZE") return add(prior, multiply(move, concatenate({w, h, w, h}, 3)));
  Expr half = make_scalar(0.5, DataType::Float(32));
  auto middle = [&](int64_t i, const Expr& size) {
    Expr of_prior = multiply(add(part(prior, i), part(prior, i + 2)), half);
    return add(multiply(part(move, i), size), of_prior);
  };
  auto reach = [&](int64_t i, const Expr& size) { return multiply(multiply(exp(part(move, i)), size), half); };
  Expr x = middle(0, w), y = middle(1, h), to_side = reach(2, w), to_top = reach(3, h);
  return concatenate({subtract(x, to_side), subtract(y, to_top), add(x, to_side), add(y, to_top)}, 3);
}

/// Inputs: moves (images, boxes * 4, or boxes * classes * 4), scores (images, boxes * classes), prior boxes. The result has a row
/// (image, class, score, corners) for each that may be found; those that are not are zero.
Exprs detection_output(LayerNode& in) {
  if (in.size() != 3) in.unsupported("a second stage");
  const Fields nms = in.fields().object("nms_param");
  if (nms.number("eta", 1) != 1) in.unsupported("an overlap that adapts");
  if (!in.flag("normalized_bbox", true)) in.unsupported("boxes in pixels");
  const int64_t classes = in.integer("num_classes"), background = in.integer("background_label_id", 0);
  const int64_t images = in.static_shape(in[0], "a detector")[0], values = in.static_shape(in[2], "a detector").back();
  const int64_t boxes = values / 4, sets = in.flag("share_location", true) ? 1 : classes;
  if (classes < 1 || classes > kMaxValues) in.invalid("num_classes is " + std::to_string(classes));
  if (product_of(in.static_shape(in[2], "a detector")) != 8 * boxes)
    in.invalid("the prior boxes are (1, 2, boxes * 4)");
  if (product_of(in.static_shape(in[0], "a detector")) != images * boxes * sets * 4 ||
      product_of(in.static_shape(in[1], "a detector")) != images * boxes * classes)
    in.invalid("moves and scores do not fit the prior boxes");
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < classes; ++i)
    if (i != background) labels.push_back(i);
  if (labels.empty()) in.invalid("there is no class but the background");
  auto without_background = [&](const Expr& x) {
    return labels.size() == static_cast<size_t>(classes) ? x : take(x, make_ints(labels, DataType::Int(32)), 1);
  };

  Expr priors = typed(reshape_to(in[2], {2, 1, boxes, 4}));
  Expr moves = transpose(reshape_to(in[0], {images, boxes, sets, 4}), int_array({0, 2, 1, 3}));
  Detector detector;
  detector.boxes = typed(decoded(in, typed(moves), slice(priors, 0, 0, 1), slice(priors, 0, 1, 2)));
  if (sets > 1) detector.boxes = typed(without_background(detector.boxes));
  detector.scores =
      typed(without_background(transpose(reshape_to(in[1], {images, boxes, classes}), int_array({0, 2, 1}))));
  detector.iou = nms.number("nms_threshold", 0.3);
  detector.score = in.number("confidence_threshold", -std::numeric_limits<double>::infinity());
  detector.looked_at = nms.integer("top_k", -1), detector.most = in.integer("keep_top_k", -1);
  Detections found = detections_of(in, detector);
  auto column = [](const Expr& x) { return expand_dims(cast(x, DataType::Float(32)), 1); };
  Expr label = take(make_ints(labels, DataType::Int(32)), found.of_class, 0);
  Expr rows = concatenate({column(found.image), column(label), column(found.scores), found.corners}, 1);
  return {expand_dims(where(expand_dims(found.valid, 1), rows, make_scalar(0, DataType::Float(32))), 0, 2)};
}

}  // namespace

LayerRows detection_rows() {
  return {
      {"DetectionOutput", detection_output},
      {"Normalize", normalize},
      {"NormalizeBBox", normalize},
      {"PriorBox", prior_box},
  };
}

}  // namespace tessera::caffe
