#pragma once
// Ranges of every axis of a schedule.

#include "te/propagate.h"
#include "tir/threads.h"

namespace tessera::te {

/// The loops around each stage, innermost first.
class AttachPaths {
 public:
  /// Throws when attachments go in a circle or point to a loop that does not exist.
  explicit AttachPaths(const Schedule& sch);
  struct Loop {
    IterVar iv;
    Stage stage;
  };
  const std::vector<Loop>& around(const StageNode* stage) const { return paths_.at(stage); }
  /// Where the stage's tensors are kept, by its scope or else by the threads around it.
  StorageRank storage(const StageNode* stage) const;

 private:
  std::unordered_map<const StageNode*, std::vector<Loop>> paths_;
};

/// Ranges of all axes of a normalised schedule, consumers first: each tensor gets the union of the boxes its consumers
/// read. Loops inside the attach point count with their whole range; loops outside it, and threads that do not share
/// the tensor's memory, are points.
Bounds infer_bounds(const Schedule& sch);

/// An axis over threads of a stage in memory that each of them has for itself: it holds only what its thread needs, at the
/// axis' first value.
bool is_private_axis(const StageNode* stage, const IterVar& leaf);
/// The thread that runs a leaf. None for a private axis whose elements the other loops do not reach: each thread then
/// computes them all, one after the other.
IterVar thread_of(const StageNode* stage, const IterVar& leaf, const Bounds& bounds, arith::Analyzer& analyzer);

}  // namespace tessera::te
