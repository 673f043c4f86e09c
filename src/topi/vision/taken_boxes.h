#pragma once
// Boxes that non-maximum suppression has taken, kept so that few of them are compared with the next one.

#include "topi/program.h"
#include "topi/vision/nms.h"

namespace tessera::topi {

/// Boxes lie in bins by where they begin along the first axis, in each bin in chunks whose corners are compared as vectors. A bin
/// is left out where all of its boxes end before the one looked for begins, or all begin behind its end: of boxes of many classes,
/// which torchvision moves apart by class, most are. Every box that overlaps is found, numbers that are not finite or not.
class TakenBoxes {
 public:
  /// Memory for `count` boxes of a type inside `body`.
  static Stmt with(DataType dtype, const PrimExpr& count, const std::function<Stmt(const TakenBoxes&)>& body);

  /// None is here; `box` gives the corners of each that may come.
  Stmt clear(const std::function<Corner(const PrimExpr&)>& box) const;
  Stmt add(const Corner& box) const;
  /// Sets what `is_found` reads: whether the overlap with a box here is at least `threshold`.
  Stmt find(const Corner& box, const PrimExpr& threshold) const;
  PrimExpr is_found() const;

 private:
  enum Number { Used, Found, Bin, Chunk, Last, kNumbers };
  enum Value { Low, High, Scale, Begin, End, kValues };

  TakenBoxes() = default;
  PrimExpr bin_of(const PrimExpr& x, bool is_last) const;
  Stmt compare_chunk(const Corner& box, const PrimExpr& threshold) const;
  Cell number(Number which) const { return {numbers_, which}; }
  Cell value(Value which) const { return {values_, which}; }

  PrimExpr count_, bins_, chunks_;
  Buffer corners_;  // of each chunk, one coordinate of all after the other
  Buffer lists_;    // the first chunk of each bin; of each chunk, the next one of its bin; and how many boxes it has
  Buffer ends_;     // where the last box of each bin ends
  Buffer numbers_, values_, hits_;
};

}  // namespace tessera::topi
