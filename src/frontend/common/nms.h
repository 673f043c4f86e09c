#pragma once
// Boxes that do not overlap, as detectors choose them.

#include "frontend/common/node_context.h"

namespace tessera::frontend {

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
/// The same where each class has boxes (classes, boxes, 4) of its own.
Chosen non_max_suppression_by_class(const NodeContext& in, const Nms& nms);
/// What is left of each image: rows (class, box), their scores and how many they are. Inputs and results have a first dimension of
/// images; of an image of one class the rows stand by falling score.
struct Kept {
  Expr rows, scores, count;
};
Kept kept_of(const NodeContext& in, const Nms& nms);
/// Boxes whose first corner is the lesser in both dimensions.
Expr with_ordered_corners(const Expr& boxes, int axis);
/// The first `count` rows, of which those from `valid` on are zero.
Expr first_rows(const NodeContext& in, const Expr& x, int64_t count, const Expr& valid);
/// The number just below a scalar of floats, for a comparison that an equal number passes.
Expr just_below(const NodeContext& in, const Expr& x);

}  // namespace tessera::frontend
