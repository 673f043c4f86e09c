#pragma once
// What detectors of the SSD family answer: of each class the best boxes that do not overlap, of each image the best of those.

#include "frontend/common/nms.h"

namespace tessera::frontend {

struct Detector {
  Expr boxes;                   // (images, classes, boxes, 4) corners, or (images, 1, boxes, 4) for all classes
  Expr scores;                  // (images, classes, boxes)
  double iou = 0.5, score = 0;  // what overlaps by more than `iou`, or does not score more than `score`, is left out
  int64_t looked_at = -1;       // boxes of a class, the best before anything is left out; -1: all
  int64_t most = -1;            // boxes of an image; -1: all
  bool in_pixels = false;       // a box reaches to the end of its last pixel
};
/// Rows by image, class and falling score, behind them rows that are not valid. There are so many as may be.
struct Detections {
  Expr valid;                 // (rows,) bool
  Expr image, of_class, box;  // (rows,) int32; `box` counts those of an image
  Expr scores, corners;       // (rows,), (rows, 4)
};
Detections detections_of(const NodeContext& in, const Detector& detector);

}  // namespace tessera::frontend
