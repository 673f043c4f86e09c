#pragma once
// Attributes of operators that detect objects.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// A number of an attribute that is a list of real numbers.
PrimExpr real_number(double value);

struct MultiBoxPriorAttrs : AttrsNode {
  Array<PrimExpr> sizes{real_number(1)}, ratios{real_number(1)};
  Array<PrimExpr> steps{real_number(-1), real_number(-1)};  // y and x; -1: as many as pixels fit
  Array<PrimExpr> offsets{real_number(0.5), real_number(0.5)};
  bool clip = false;
  static constexpr NodeInfo info{"relay.attrs.MultiBoxPriorAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("sizes", &MultiBoxPriorAttrs::sizes);
    f("ratios", &MultiBoxPriorAttrs::ratios);
    f("steps", &MultiBoxPriorAttrs::steps);
    f("offsets", &MultiBoxPriorAttrs::offsets);
    f("clip", &MultiBoxPriorAttrs::clip);
  }
};

struct MultiBoxTransformLocAttrs : AttrsNode {
  bool clip = true;
  double threshold = 0.01;
  Array<PrimExpr> variances{real_number(0.1), real_number(0.1), real_number(0.2), real_number(0.2)};
  static constexpr NodeInfo info{"relay.attrs.MultiBoxTransformLocAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("clip", &MultiBoxTransformLocAttrs::clip);
    f("threshold", &MultiBoxTransformLocAttrs::threshold);
    f("variances", &MultiBoxTransformLocAttrs::variances);
  }
};

struct GetValidCountsAttrs : AttrsNode {
  PrimExpr score_threshold;  // an argument says it
  int32_t id_index = 0, score_index = 1;
  static constexpr NodeInfo info{"relay.attrs.GetValidCountsAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("score_threshold", &GetValidCountsAttrs::score_threshold, Optional);
    f("id_index", &GetValidCountsAttrs::id_index);
    f("score_index", &GetValidCountsAttrs::score_index);
  }
};

struct NonMaximumSuppressionAttrs : AttrsNode {
  bool force_suppress = false;
  int32_t top_k = -1, coord_start = 2, score_index = 1, id_index = 0;
  bool return_indices = true, invalid_to_bottom = false;
  static constexpr NodeInfo info{"relay.attrs.NonMaximumSuppressionAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("force_suppress", &NonMaximumSuppressionAttrs::force_suppress);
    f("top_k", &NonMaximumSuppressionAttrs::top_k);
    f("coord_start", &NonMaximumSuppressionAttrs::coord_start);
    f("score_index", &NonMaximumSuppressionAttrs::score_index);
    f("id_index", &NonMaximumSuppressionAttrs::id_index);
    f("return_indices", &NonMaximumSuppressionAttrs::return_indices);
    f("invalid_to_bottom", &NonMaximumSuppressionAttrs::invalid_to_bottom);
  }
};

struct AllClassNonMaximumSuppressionAttrs : AttrsNode {
  String output_format = "onnx";  // or "tensorflow"
  static constexpr NodeInfo info{"relay.attrs.AllClassNonMaximumSuppressionAttrs", &AttrsNode::info};
  static void fields(auto f) { f("output_format", &AllClassNonMaximumSuppressionAttrs::output_format); }
};

struct ROIAlignAttrs : AttrsNode {
  Array<PrimExpr> pooled_size;
  double spatial_scale = 1;
  int32_t sample_ratio = -1;  // samples of a bin along each dimension; -1: one for each element it covers
  String layout = "NCHW", mode = "avg";
  String coordinates = nullptr;  // "half_pixel": regions are shifted by half an element and may be smaller than one
  static constexpr NodeInfo info{"relay.attrs.ROIAlignAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("pooled_size", &ROIAlignAttrs::pooled_size, Required);
    f("spatial_scale", &ROIAlignAttrs::spatial_scale, Required);
    f("sample_ratio", &ROIAlignAttrs::sample_ratio);
    f("layout", &ROIAlignAttrs::layout);
    f("mode", &ROIAlignAttrs::mode);
    f("coordinates", &ROIAlignAttrs::coordinates, Optional);
  }
};

struct ROIPoolAttrs : AttrsNode {
  Array<PrimExpr> pooled_size;
  double spatial_scale = 1;
  String layout = "NCHW";
  static constexpr NodeInfo info{"relay.attrs.ROIPoolAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("pooled_size", &ROIPoolAttrs::pooled_size, Required);
    f("spatial_scale", &ROIPoolAttrs::spatial_scale, Required);
    f("layout", &ROIPoolAttrs::layout);
  }
};

struct ProposalAttrs : AttrsNode {
  Array<PrimExpr> scales{real_number(4), real_number(8), real_number(16), real_number(32)};
  Array<PrimExpr> ratios{real_number(0.5), real_number(1), real_number(2)};
  int32_t feature_stride = 16;
  double threshold = 0.7;
  int32_t rpn_pre_nms_top_n = 6000, rpn_post_nms_top_n = 300, rpn_min_size = 16;
  bool iou_loss = false;
  static constexpr NodeInfo info{"relay.attrs.ProposalAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("scales", &ProposalAttrs::scales);
    f("ratios", &ProposalAttrs::ratios);
    f("feature_stride", &ProposalAttrs::feature_stride);
    f("threshold", &ProposalAttrs::threshold);
    f("rpn_pre_nms_top_n", &ProposalAttrs::rpn_pre_nms_top_n);
    f("rpn_post_nms_top_n", &ProposalAttrs::rpn_post_nms_top_n);
    f("rpn_min_size", &ProposalAttrs::rpn_min_size);
    f("iou_loss", &ProposalAttrs::iou_loss);
  }
};

struct YoloReorgAttrs : AttrsNode {
  PrimExpr stride = PrimExpr(1);
  static constexpr NodeInfo info{"relay.attrs.YoloReorgAttrs", &AttrsNode::info};
  static void fields(auto f) { f("stride", &YoloReorgAttrs::stride); }
};

}  // namespace tessera::relay
