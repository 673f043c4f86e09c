#pragma once
// Boxes chosen among many: those with a score, and of those that overlap the best one.

#include "te/tensor.h"

namespace tessera::topi {

/// Of (batch, boxes, values): how many boxes score above the threshold (and have a class, where `id_index` is not
/// negative); those boxes moved to the front, -1 behind them; and where each came from.
Array<te::Tensor> get_valid_counts(const te::Tensor& data, const te::Tensor& score_threshold, int id_index,
                                   int score_index);

using Corner = std::function<PrimExpr(int)>;  // coordinate 0, 1 of one corner, 2, 3 of the opposite one
/// The area that two boxes share over that which they cover; nothing over nothing is nothing.
PrimExpr overlap(const Corner& a, const Corner& b);
/// The only element of a tensor without dimensions, or of one element.
PrimExpr only(const Buffer& buffer);
/// A number of boxes that a tensor says, in 32 bits: boxes are fewer than 2^31, and all that is negative means the same.
PrimExpr count_of(const PrimExpr& given);

struct NmsOptions {
  bool force_suppress = false;  // also between classes
  int top_k = -1;               // only so many of the best boxes are looked at
  int coord_start = 2, score_index = 1, id_index = 0;
  bool return_indices = true, invalid_to_bottom = false;
};
/// The boxes (batch, boxes, values), best first, with -1 in place of those that overlap a better one by the threshold or
/// more. With `return_indices`: where those that stay came from, at the front, and how many they are.
Array<te::Tensor> non_max_suppression(const te::Tensor& data, const te::Tensor& valid_count, const te::Tensor& indices,
                                      const te::Tensor& max_output_size, const te::Tensor& iou_threshold,
                                      const NmsOptions& options);

/// Each class of each image for itself: boxes (batch, boxes, 4), scores (batch, classes, boxes). `as_onnx`: rows (image,
/// class, box) and how many there are. Else for each image rows (class, box) by falling score, the scores, and how many.
Array<te::Tensor> all_class_non_max_suppression(const te::Tensor& boxes, const te::Tensor& scores,
                                                const te::Tensor& max_per_class, const te::Tensor& iou_threshold,
                                                const te::Tensor& score_threshold, bool as_onnx);

}  // namespace tessera::topi
