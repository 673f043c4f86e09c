#pragma once
// Anchors, and the boxes that a network predicts from them.

#include "te/tensor.h"

namespace tessera::topi {

struct PriorOptions {
  std::vector<double> sizes, ratios, steps, offsets;  // steps and offsets: y, then x
  bool clip = false;
};
/// (1, height * width * anchors, 4): boxes around each pixel of (n, c, height, width), in fractions of the image.
te::Tensor multibox_prior(const te::Tensor& data, const PriorOptions& options);

/// Of class probabilities (batch, classes, anchors), corrections (batch, anchors * 4) and anchors (1, anchors, 4): boxes
/// (class, score, x1, y1, x2, y2) of all that are not background, and how many.
Array<te::Tensor> multibox_transform_loc(const te::Tensor& cls_prob, const te::Tensor& loc_pred,
                                         const te::Tensor& anchor, bool clip, double threshold,
                                         const std::vector<double>& variances);

struct ProposalOptions {
  std::vector<double> scales, ratios;
  int feature_stride = 16;
  double threshold = 0.7;
  int pre_nms = 6000, post_nms = 300, min_size = 16;
  bool iou_loss = false;
};
/// Of scores (batch, 2 * anchors, h, w), corrections (batch, 4 * anchors, h, w) and (height, width, scale) of each
/// image: the best `post_nms` regions (image, x1, y1, x2, y2) of each, repeated where there are fewer.
te::Tensor proposal(const te::Tensor& cls_prob, const te::Tensor& bbox_pred, const te::Tensor& im_info,
                    const ProposalOptions& options);

/// Channels become blocks of pixels and space is divided by `stride`, in the order of Darknet's reorg layer.
te::Tensor yolo_reorg(const te::Tensor& data, int stride);

}  // namespace tessera::topi
