#pragma once
// Soft suppression of boxes, which TensorFlow alone has; the usual one is `frontend/common/nms.h`.

#include "frontend/common/nms.h"
#include "frontend/tensorflow/operation.h"

namespace tessera::tensorflow {

/// Soft suppression with a Gaussian of width `sigma`. What overlaps by more than `iou` is left out, where there is one.
struct SoftNms {
  int64_t most = 0;
  Expr iou, score;
  double sigma = 0;
};
/// Boxes by the order in which they are chosen (int32) and their scores then; a run decides how many.
struct SoftlyChosen {
  Expr boxes, scores;
};
SoftlyChosen soft_suppression(const NodeContext& in, const Expr& boxes, const Expr& scores, const SoftNms& nms);

}  // namespace tessera::tensorflow
