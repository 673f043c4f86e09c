// Operators of torchvision.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The indices of boxes (x1, y1, x2, y2) that none with a higher score overlaps, best first.
Values suppressed(Operation& in) {
  Expr boxes = expand_dims(in["dets"], 0), scores = expand_dims(in["scores"], 0, 2);
  const double limit = in.number("iou_threshold");
  Expr rows = onnx::apply(in, "NonMaxSuppression",
                          {boxes, scores, make_ints({INT32_MAX}), make_scalar(limit, DataType::Float(32))});
  return {take(rows, make_scalar(2, DataType::Int(64)), 1)};
}

Values aligned_regions(Operation& in) {
  Expr rois = in["rois"];
  Expr images = cast(take(rois, make_scalar(0, DataType::Int(64)), 1), DataType::Int(64));
  return {onnx::apply(
      in, "RoiAlign", {in[0], slice(rois, 1, 1, 5), images},
      {{"spatial_scale", in.number("spatial_scale", 1)},
       {"output_height", in.integer("pooled_height")},
       {"output_width", in.integer("pooled_width")},
       {"sampling_ratio", std::max<int64_t>(in.integer("sampling_ratio", 0), 0)},
       {"coordinate_transformation_mode", in.flag("aligned", false) ? "half_pixel" : "output_half_pixel"}})};
}
Values pooled_regions(Operation& in) {
  return {onnx::apply(in, "MaxRoiPool", {in[0], in["rois"]},
                      {{"pooled_shape", std::vector<int64_t>{in.integer("pooled_height"), in.integer("pooled_width")}},
                       {"spatial_scale", in.number("spatial_scale", 1)}}),
          Value()};
}

Values deformed_convolution(Operation& in) {
  const int64_t pad_h = in.integer("pad_h", 0), pad_w = in.integer("pad_w", 0);
  std::vector<Expr> inputs{in[0], in["weight"], in["offset"], in["bias"]};
  if (in.flag("use_mask", false)) inputs.push_back(in["mask"]);
  return {onnx::apply(in, "DeformConv", inputs,
                      {{"strides", std::vector<int64_t>{in.integer("stride_h", 1), in.integer("stride_w", 1)}},
                       {"pads", std::vector<int64_t>{pad_h, pad_w, pad_h, pad_w}},
                       {"dilations", std::vector<int64_t>{in.integer("dilation_h", 1), in.integer("dilation_w", 1)}},
                       {"group", in.integer("groups", 1)},
                       {"offset_group", in.integer("offset_groups", 1)}})};
}

}  // namespace

Rows vision_rows() {
  return {
      {"torchvision::deform_conv2d", deformed_convolution},
      {"torchvision::nms", suppressed},
      {"torchvision::roi_align", aligned_regions},
      {"torchvision::roi_pool", pooled_regions},
  };
}

}  // namespace tessera::torch
