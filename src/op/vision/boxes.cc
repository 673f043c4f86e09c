// vision.multibox_prior, multibox_transform_loc, proposal, roi_align, roi_pool, yolo_reorg.

#include "topi/vision/boxes.h"
#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/vision/check_dimensions.h"
#include "relay/attrs/vision.h"
#include "tir/layout.h"
#include "topi/vision/roi.h"

namespace tessera::op {
namespace {

using relay::may_equal;
using relay::MultiBoxPriorAttrs;
using relay::MultiBoxTransformLocAttrs;
using relay::ProposalAttrs;
using relay::ROIAlignAttrs;
using relay::ROIPoolAttrs;
using relay::YoloReorgAttrs;

std::vector<double> numbers(const Array<PrimExpr>& values) {
  std::vector<double> out;
  for (const PrimExpr& value : values) {
    if (auto* real = value.as<FloatImm>()) out.push_back(real->value);
    else if (const int64_t* whole = as_int(value)) out.push_back(static_cast<double>(*whole));
    else throw Error(TypeError) << value << " is not a number";
  }
  return out;
}

void check_count(const char* name, const Array<PrimExpr>& values, size_t count) {
  if (values.size() != count)
    throw Error(TypeError) << name << " must have " << count << " values, got " << values.size();
}

bool multibox_prior_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<MultiBoxPriorAttrs>();
  check_dimensions(query, 0, "data", 4, "(n, c, height, width)");
  check_count("steps", attrs->steps, 2);
  check_count("offsets", attrs->offsets, 2);
  if (attrs->sizes.empty() || attrs->ratios.empty()) throw Error(TypeError) << "sizes and ratios must not be empty";
  auto anchors = static_cast<int>(attrs->sizes.size() + attrs->ratios.size() - 1);
  PrimExpr boxes = extent_product({data->shape[2], data->shape[3], PrimExpr(anchors)});
  query.result(TensorType({PrimExpr(1), boxes, PrimExpr(4)}, data->dtype));
  return true;
}

Array<te::Tensor> multibox_prior(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<MultiBoxPriorAttrs>();
  return {topi::multibox_prior(in[0], {numbers(attrs->sizes), numbers(attrs->ratios), numbers(attrs->steps),
                                       numbers(attrs->offsets), attrs->clip})};
}

bool transform_loc_type(TypeQuery& query) {
  auto *prob = query.tensor(0), *loc = query.tensor(1), *anchor = query.tensor(2);
  if (!prob || !loc || !anchor) return false;
  check_dimensions(query, 0, "cls_prob", 3, "(batch, classes, anchors)");
  check_dimensions(query, 1, "loc_pred", 2, "(batch, anchors * 4)");
  check_dimensions(query, 2, "anchor", 3, "(1, anchors, 4)");
  check_count("variances", query.attrs_as<MultiBoxTransformLocAttrs>()->variances, 4);
  const PrimExpr &batch = prob->shape[0], &anchors = prob->shape[2];
  PrimExpr coordinates = on_extent(anchors, [](const PrimExpr& n) { return n * 4; });
  if (!may_equal(loc->shape[0], batch) || !may_equal(loc->shape[1], coordinates) || !may_equal(anchor->shape[0], 1) ||
      !may_equal(anchor->shape[1], anchors) || !may_equal(anchor->shape[2], 4))
    throw Error(TypeError) << "cls_prob, loc_pred and anchor do not fit: they are " << to_text(query.type(0)) << ", "
                           << to_text(query.type(1)) << " and " << to_text(query.type(2));
  query.result(
      tuple_type({TensorType({batch, anchors, PrimExpr(6)}, loc->dtype), TensorType({batch}, DataType::Int(32))}));
  return true;
}

Array<te::Tensor> transform_loc(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<MultiBoxTransformLocAttrs>();
  return topi::multibox_transform_loc(in[0], in[1], in[2], attrs->clip, attrs->threshold, numbers(attrs->variances));
}

bool proposal_type(TypeQuery& query) {
  auto *prob = query.tensor(0), *pred = query.tensor(1), *info = query.tensor(2);
  if (!prob || !pred || !info) return false;
  auto* attrs = query.attrs_as<ProposalAttrs>();
  check_dimensions(query, 0, "cls_prob", 4, "(batch, 2 * anchors, h, w)");
  check_dimensions(query, 1, "bbox_pred", 4, "(batch, 4 * anchors, h, w)");
  check_dimensions(query, 2, "im_info", 2, "(batch, 3)");
  auto anchors = static_cast<int>(attrs->scales.size() * attrs->ratios.size());
  if (!may_equal(prob->shape[1], PrimExpr(2 * anchors)) || !may_equal(pred->shape[1], PrimExpr(4 * anchors)))
    throw Error(TypeError) << "scales and ratios make " << anchors << " anchors, but cls_prob and bbox_pred are "
                           << to_text(query.type(0)) << " and " << to_text(query.type(1));
  bool fits = may_equal(info->shape[0], prob->shape[0]) && may_equal(info->shape[1], PrimExpr(3));
  for (size_t i : {0, 2, 3}) fits = fits && may_equal(prob->shape[i], pred->shape[i]);
  if (!fits)
    throw Error(TypeError) << "cls_prob, bbox_pred and im_info are " << to_text(query.type(0)) << ", "
                           << to_text(query.type(1)) << " and " << to_text(query.type(2)) << ", which do not fit";
  PrimExpr regions = on_extent(prob->shape[0], [&](const PrimExpr& n) { return n * attrs->rpn_post_nms_top_n; });
  query.result(TensorType({regions, PrimExpr(5)}, prob->dtype));
  return true;
}

Array<te::Tensor> proposal(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<ProposalAttrs>();
  topi::ProposalOptions options;
  options.scales = numbers(attrs->scales);
  options.ratios = numbers(attrs->ratios);
  options.feature_stride = attrs->feature_stride;
  options.threshold = attrs->threshold;
  options.pre_nms = attrs->rpn_pre_nms_top_n;
  options.post_nms = attrs->rpn_post_nms_top_n;
  options.min_size = attrs->rpn_min_size;
  options.iou_loss = attrs->iou_loss;
  return {topi::proposal(in[0], in[1], in[2], options)};
}

/// data in a layout, regions (regions, 5) -> (regions, channels, height, width) in the same layout.
template <class A>
bool roi_type(TypeQuery& query) {
  auto *data = query.tensor(0), *rois = query.tensor(1);
  if (!data || !rois) return false;
  auto* attrs = query.attrs_as<A>();
  check_rank(query, 0, "data", attrs->layout);
  check_count("pooled_size", attrs->pooled_size, 2);
  if (rois->shape.size() != 2 || !may_equal(rois->shape[1], 5))
    throw Error(TypeError) << "rois must be (regions, 5), but is " << to_text(query.type(1));
  if constexpr (std::is_same_v<A, ROIAlignAttrs>)
    if (attrs->mode != "avg" && attrs->mode != "max")
      throw Error(TypeError) << "mode is " << attrs->mode << ", but must be avg or max";
  Layout plain = make_layout("NCHW"), layout = make_layout(attrs->layout);
  PrimExpr channels = convert_shape(layout, plain, data->shape)[1];
  Array<PrimExpr> shape{rois->shape[0], channels, attrs->pooled_size[0], attrs->pooled_size[1]};
  query.result(TensorType(convert_shape(plain, layout, shape), data->dtype));
  return true;
}

template <class A>
topi::RoiOptions roi_options(const A* attrs) {
  topi::RoiOptions options;
  options.pooled_size = attrs->pooled_size;
  options.spatial_scale = attrs->spatial_scale;
  options.layout = attrs->layout;
  return options;
}

Array<te::Tensor> roi_align(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<ROIAlignAttrs>();
  topi::RoiOptions options = roi_options(attrs);
  options.sample_ratio = attrs->sample_ratio;
  options.is_max = attrs->mode == "max";
  options.is_half_pixel = attrs->coordinates.defined() && attrs->coordinates == "half_pixel";
  return {topi::roi_align(in[0], in[1], options)};
}

Array<te::Tensor> roi_pool(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::roi_pool(in[0], in[1], roi_options(attrs.as<ROIPoolAttrs>()))};
}

bool yolo_reorg_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  const int64_t* stride = as_int(query.attrs_as<YoloReorgAttrs>()->stride);
  check_dimensions(query, 0, "data", 4, "(n, c, height, width)");
  if (!stride || *stride < 1) throw Error(TypeError) << "stride must be a positive number";
  auto s = static_cast<int>(*stride);
  auto require_multiple = [&](const PrimExpr& extent, int factor) {
    const int64_t* n = as_int(extent);
    if (n && *n % factor != 0)
      throw Error(TypeError) << "stride " << s << " does not divide " << to_text(query.type(0));
    if (!n && !relay::is_any(extent) && factor > 1)
      relay::assume(equal(floormod(extent, factor), make_zero(extent.dtype())));
  };
  require_multiple(data->shape[1], s * s);
  auto divided = [&](const PrimExpr& extent) {
    require_multiple(extent, s);
    return on_extent(extent, [&](const PrimExpr& e) { return floordiv(e, s); });
  };
  PrimExpr channels = on_extent(data->shape[1], [&](const PrimExpr& e) { return e * s * s; });
  query.result(TensorType({data->shape[0], channels, divided(data->shape[2]), divided(data->shape[3])}, data->dtype));
  return true;
}

Array<te::Tensor> yolo_reorg(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  return {topi::yolo_reorg(in[0], static_cast<int>(*as_int(attrs.as<YoloReorgAttrs>()->stride)))};
}

OpRecord vision_record(const char* name, const char* rule_name, const char* doc, TypeRule rule, Fusion fusion,
                       relay::Compute compute) {
  return OpRecord(name).doc(doc).support_level(5).type(rule_name, rule).fusion(fusion).compute(std::move(compute));
}

}  // namespace

static void boxes_records() {
  vision_record("vision.multibox_prior", "MultiBoxPrior", "Anchors around each pixel.", multibox_prior_type,
                Fusion::Opaque, multibox_prior)
      .attrs<MultiBoxPriorAttrs>()
      .input("data", "(n, c, height, width)");
  vision_record("vision.multibox_transform_loc", "MultiBoxTransformLoc", "Boxes from anchors and predictions.",
                transform_loc_type, Fusion::Opaque, transform_loc)
      .attrs<MultiBoxTransformLocAttrs>()
      .input("cls_prob", "class probabilities")
      .input("loc_pred", "corrections")
      .input("anchor", "anchors");
  vision_record("vision.proposal", "Proposal", "Regions from anchors and predictions, the best of those that overlap.",
                proposal_type, Fusion::Opaque, proposal)
      .input("cls_prob", "scores")
      .input("bbox_pred", "corrections")
      .input("im_info", "height, width and scale of each image");
  vision_record("vision.roi_align", "ROIAlign", "Regions in one size, sampled between the elements.",
                roi_type<ROIAlignAttrs>, Fusion::OutputElementwise, roi_align)
      .input("data", "the images")
      .input("rois", "image, x1, y1, x2, y2 of each region");
  vision_record("vision.roi_pool", "ROIPool", "Regions in one size, the greatest element of each bin.",
                roi_type<ROIPoolAttrs>, Fusion::OutputElementwise, roi_pool)
      .input("data", "the images")
      .input("rois", "image, x1, y1, x2, y2 of each region");
  vision_record("vision.yolo_reorg", "YoloReorg", "Space against channels, in the order of Darknet.", yolo_reorg_type,
                Fusion::Injective, yolo_reorg)
      .attrs<YoloReorgAttrs>()
      .input("data", "(n, c, height, width)");
}

[[gnu::init_priority(kFamilies)]] static const OpFamily boxes_family{boxes_records};

}  // namespace tessera::op
