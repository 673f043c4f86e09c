// Detectors: anchors, boxes, regions.

#include "relay/attrs/vision.h"
#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls

Array<PrimExpr> reals(const std::vector<double>& values) {
  Array<PrimExpr> out;
  for (double value : values) out.push_back(real_number(value));
  return out;
}

Exprs multibox_prior(LayerNode& in) {
  return {call_op("vision.multibox_prior", {in[0]}, make_attrs<MultiBoxPriorAttrs>([&](auto& to) {
                    to.sizes = reals(in.fields().numbers("sizes", {1}));
                    to.ratios = reals(in.fields().numbers("ratios", {1}));
                    to.steps = reals(in.fields().numbers("steps", {-1, -1}));
                    to.offsets = reals(in.fields().numbers("offsets", {0.5, 0.5}));
                    to.clip = in.flag("clip");
                  }))};
}

struct Suppression {
  double overlap = 0.5;
  bool force = false;
  int64_t top_k = -1, coordinates = 2, score = 1, id = 0;
};
Expr suppressed(const Expr& boxes, const Expr& count, const Expr& indices, const Suppression& how) {
  Array<Expr> args{boxes, count, indices, make_scalar(-1, DataType::Int(32)),
                   make_scalar(how.overlap, DataType::Float(32))};
  return call_op("vision.non_max_suppression", args, make_attrs<NonMaximumSuppressionAttrs>([&](auto& to) {
                   to.force_suppress = how.force;
                   to.top_k = static_cast<int32_t>(how.top_k);
                   to.coord_start = static_cast<int32_t>(how.coordinates);
                   to.score_index = static_cast<int32_t>(how.score);
                   to.id_index = static_cast<int32_t>(how.id);
                   to.return_indices = false;
                   to.invalid_to_bottom = true;
                 }));
}

Exprs multibox_detection(LayerNode& in) {
  if (in.integer("background_id", 0) != 0) in.unsupported("a background_id other than 0");
  Expr boxes = call_op("vision.multibox_transform_loc", {in[0], in[1], in[2]},
                       make_attrs<MultiBoxTransformLocAttrs>([&](auto& to) {
                         to.clip = in.flag("clip", true);
                         to.threshold = in.number("threshold", 0.01);
                         to.variances = reals(in.fields().numbers("variances", {0.1, 0.1, 0.2, 0.2}));
                       }));
  Suppression how;
  how.overlap = in.number("nms_threshold", 0.5), how.force = in.flag("force_suppress"),
  how.top_k = in.integer("nms_topk", -1);
  Expr made = typed(make_get_item(boxes, 0));
  Ints shape = in.static_shape(made, "boxes");
  std::vector<int64_t> counted;
  for (int64_t i = 0; i < shape[1]; ++i) counted.push_back(i);
  Expr indices = broadcast_to(make_ints(counted, DataType::Int(32)), int_array({shape[0], shape[1]}));
  return {suppressed(made, make_get_item(boxes, 1), indices, how)};
}

/// Four numbers of boxes along the last dimension.
struct Corners {
  Expr a, b, c, d;
};
Corners corners(const Expr& x, int axis, int64_t begin) {
  auto one = [&](int64_t i) { return slice(x, axis, begin + i, begin + i + 1); };
  return {one(0), one(1), one(2), one(3)};
}
Expr number_of_type(const LayerNode& in, const Expr& like, double value) { return make_scalar(value, in.dtype(like)); }

Exprs box_nms(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  if (rank != 2 && rank != 3) in.unsupported("data of other than two or three dimensions");
  if (in.integer("background_id", -1) >= 0) in.unsupported("background_id");
  Suppression how;
  how.overlap = in.number("overlap_thresh", 0.5), how.force = in.flag("force_suppress"),
  how.top_k = in.integer("topk", -1);
  how.coordinates = in.integer("coord_start", 2), how.score = in.integer("score_index", 1),
  how.id = in.integer("id_index", -1);
  const std::string from = in.text("in_format", "corner"), to = in.text("out_format", "corner");
  Expr boxes = rank == 2 ? typed(expand_dims(in[0], 0)) : in[0];
  Ints shape = in.static_shape(boxes, "boxes");
  auto with_boxes = [&](const Expr& x, const Corners& now) {
    Array<Expr> parts;
    if (how.coordinates > 0) parts.push_back(slice(x, 2, 0, how.coordinates));
    for (const Expr& one : {now.a, now.b, now.c, now.d}) parts.push_back(one);
    if (how.coordinates + 4 < shape[2]) parts.push_back(slice(x, 2, how.coordinates + 4, shape[2]));
    return typed(concatenate(parts, 2));
  };
  Expr half = number_of_type(in, boxes, 0.5);
  if (from == "center") {
    Corners box = corners(boxes, 2, how.coordinates);
    Expr w = multiply(box.c, half), h = multiply(box.d, half);
    boxes = with_boxes(boxes, {subtract(box.a, w), subtract(box.b, h), add(box.a, w), add(box.b, h)});
  }
  Expr valid =
      call_op("vision.get_valid_counts", {boxes, make_scalar(in.number("valid_thresh", 0), DataType::Float(32))},
              make_attrs<GetValidCountsAttrs>([&](auto& attrs) {
                attrs.id_index = static_cast<int32_t>(how.id);
                attrs.score_index = static_cast<int32_t>(how.score);
              }));
  Expr out = typed(suppressed(make_get_item(valid, 1), make_get_item(valid, 0), make_get_item(valid, 2), how));
  if (to == "center") {
    Corners box = corners(out, 2, how.coordinates);
    Expr stays = less(slice(out, 2, how.score, how.score + 1), number_of_type(in, out, 0));
    Corners centered{multiply(add(box.a, box.c), half), multiply(add(box.b, box.d), half), subtract(box.c, box.a),
                     subtract(box.d, box.b)};
    out = where(stays, out, with_boxes(out, centered));
  }
  return {rank == 2 ? squeeze(out, int_array({0})) : out};
}

Exprs box_decode(LayerNode& in) {
  const Expr &data = in[0], &anchors = in[1];
  Corners move = corners(data, 2, 0), anchor = corners(anchors, 2, 0);
  auto number = [&](double value) { return number_of_type(in, data, value); };
  if (in.text("format", "center") == "corner") {
    Expr w = subtract(anchor.c, anchor.a), h = subtract(anchor.d, anchor.b);
    anchor = {add(anchor.a, multiply(w, number(0.5))), add(anchor.b, multiply(h, number(0.5))), w, h};
  }
  auto scaled = [&](const Expr& x, const char* name) { return multiply(x, number(in.number(name, 1))); };
  Expr x = add(multiply(scaled(move.a, "std0"), anchor.c), anchor.a),
       y = add(multiply(scaled(move.b, "std1"), anchor.d), anchor.b);
  Expr dw = scaled(move.c, "std2"), dh = scaled(move.d, "std3");
  if (const double limit = in.number("clip", -1); limit > 0)
    dw = minimum(dw, number(limit)), dh = minimum(dh, number(limit));
  Expr w = multiply(multiply(exp(dw), anchor.c), number(0.5)), h = multiply(multiply(exp(dh), anchor.d), number(0.5));
  return {concatenate({subtract(x, w), subtract(y, h), add(x, w), add(y, h)}, 2)};
}

Exprs roi_align(LayerNode& in) {
  if (in.flag("position_sensitive")) in.unsupported("position_sensitive");
  Ints size = in.integers("pooled_size", 2, 1);
  return {call_op("vision.roi_align", {in[0], in[1]}, make_attrs<ROIAlignAttrs>([&](auto& to) {
                    to.pooled_size = int_array(size);
                    to.spatial_scale = in.number("spatial_scale", 1);
                    to.sample_ratio = static_cast<int32_t>(in.integer("sample_ratio", -1));
                    if (in.flag("aligned")) to.coordinates = "half_pixel";
                  }))};
}
Exprs roi_pooling(LayerNode& in) {
  return {call_op("vision.roi_pool", {in[0], in[1]}, make_attrs<ROIPoolAttrs>([&](auto& to) {
                    to.pooled_size = int_array(in.integers("pooled_size", 2, 1));
                    to.spatial_scale = in.number("spatial_scale", 1);
                  }))};
}

Exprs proposal(LayerNode& in) {
  if (in.flag("output_score")) in.unsupported("output_score");
  return {call_op("vision.proposal", {in[0], in[1], in[2]}, make_attrs<ProposalAttrs>([&](auto& to) {
                    to.scales = reals(in.fields().numbers("scales", {4, 8, 16, 32}));
                    to.ratios = reals(in.fields().numbers("ratios", {0.5, 1, 2}));
                    to.feature_stride = static_cast<int32_t>(in.integer("feature_stride", 16));
                    to.threshold = in.number("threshold", 0.7);
                    to.rpn_pre_nms_top_n = static_cast<int32_t>(in.integer("rpn_pre_nms_top_n", 6000));
                    to.rpn_post_nms_top_n = static_cast<int32_t>(in.integer("rpn_post_nms_top_n", 300));
                    to.rpn_min_size = static_cast<int32_t>(in.integer("rpn_min_size", 16));
                    to.iou_loss = in.flag("iou_loss");
                  }))};
}

}  // namespace

LayerRows vision_rows() {
  return {
      {"ROIPooling", roi_pooling},
      {"_contrib_MultiBoxDetection", multibox_detection},
      {"_contrib_MultiBoxPrior", multibox_prior},
      {"_contrib_MultiProposal", proposal},
      {"_contrib_Proposal", proposal},
      {"_contrib_ROIAlign", roi_align},
      {"_contrib_box_decode", box_decode},
      {"_contrib_box_nms", box_nms},
  };
}

}  // namespace tessera::mxnet
