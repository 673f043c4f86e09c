#pragma once
// Boxes that do not overlap, as TensorFlow and TFLite choose them.

#include "frontend/tensorflow/operation.h"

namespace tessera::tensorflow {

struct Nms {
  Expr boxes, scores;  // (boxes, 4) corners in any order; (classes, boxes)
  int64_t most = 0;    // boxes of a class
  Expr iou, score;     // scalars: what overlaps by more than `iou`, or does not score more than `score`, is left out
};
/// Rows (class, box), best first within all classes, and how many there are (int64, no dimensions).
struct Chosen {
  Expr rows, scores, count;
};
Chosen non_max_suppression(const NodeContext& in, const Nms& nms);
/// Soft suppression with a Gaussian of width `sigma`.
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
/// Boxes whose first corner is the lesser in both dimensions.
Expr with_ordered_corners(const Expr& boxes, int axis);
/// The first `count` rows, of which those from `valid` on are zero.
Expr first_rows(const NodeContext& in, const Expr& x, int64_t count, const Expr& valid);
/// The number just below a scalar of floats, for a comparison that an equal number passes.
Expr just_below(const NodeContext& in, const Expr& x);

}  // namespace tessera::tensorflow
