#pragma once
// Contractions in registers: convolutions whose channels lie together, and matmuls of that form.

#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// What is decided about a tile.
struct ContractionKnobsNode : Object {
  int32_t rows = 1, columns = 1;  // pixels of a tile: several rows only where each is a whole one
  int32_t vectors = 1;            // side by side
  bool vectors_first = false;     // all pixels before the next vectors
  bool unrolls_window = false;    // the innermost reduce axis
  int32_t padded_rows = 1;        // rows of tiles whose padding is computed at a time
  int32_t block_rows = 0;         // rows of tiles that meet all vectors before the next rows; 0: all of them
  bool copies_block = false;      // the data of a block of rows, so that it lies together
  static constexpr NodeInfo info{"topi.cpu.ContractionKnobs", &Object::info};
  static void fields(auto f) {
    f("rows", &ContractionKnobsNode::rows);
    f("columns", &ContractionKnobsNode::columns);
    f("vectors", &ContractionKnobsNode::vectors);
    f("vectors_first", &ContractionKnobsNode::vectors_first);
    f("unrolls_window", &ContractionKnobsNode::unrolls_window);
    f("padded_rows", &ContractionKnobsNode::padded_rows);
    f("block_rows", &ContractionKnobsNode::block_rows);
    f("copies_block", &ContractionKnobsNode::copies_block);
  }
};
using ContractionKnobs = Ref<ContractionKnobsNode>;

/// Schedules a contraction whose last axis lies together in memory in one factor, and its element-wise epilogue, if there
/// is one:
///   for outer tiles, in parallel:  sums = 0;  for all reduce axes: sums[p, v, lane] += a[p] * b[v, lane];  store(sums)
/// `p` are neighbours for which b is the same (pixels), `v` neighbours for which a is the same (more lanes). A factor that
/// every pixel has of its own, as in a convolution of each channel alone, leaves v at 1. Tiles are those of the least
/// cost that fit the registers; pixels that do not fill a whole tile get a smaller one.
/// Where the innermost reduce axis is a group that lies together in both factors (b[v, lane, group]), of types that the machine
/// multiplies so, a step is a dot product of groups (group_dot.h).
struct ContractionPlan {
  /// `size` neighbours of an axis of the result.
  struct Split {
    size_t axis;
    int64_t size;
  };
  Reduction reduction;
  int64_t lanes = 1;
  std::vector<size_t> pixel_axes;     // at most two, the inner one last
  std::optional<size_t> vector_axis;  // the last one where its vectors lie side by side
  int64_t vector_extent = 1;          // vectors of it
  ContractionKnobs knobs;
  bool reads_pixels = false;      // a factor has lanes of its own for each pixel
  const GroupDot* dot = nullptr;  // of groups, in vectors of `dot_isa`; null without groups
  const Isa* dot_isa = nullptr;
  Buffer data;                // that all lanes read the same element of; it may be empty
  schedule::BlockRef padded;  // a stage that pads the data; it may be empty

  /// The axis of rows of pixels, where vectors are an axis outside of it.
  std::optional<size_t> row_axis() const;
  /// The axes of pixels that tiles have several of, from the outside.
  std::vector<Split> pixels() const;
};
/// The plan for the block as it stands now, with other extents of the result where they are given; nothing where the reduction
/// has no such form.
std::optional<ContractionPlan> plan_contraction(const schedule::State& state, const schedule::BlockRef& block,
                                                const Machine& machine, const std::vector<int64_t>& extents = {});
/// Does what the plan says; a ScheduleError, and nothing is changed, where that cannot be.
void tile_contraction(schedule::State& state, const schedule::BlockRef& block, const ContractionPlan& plan);
/// A part of it, for rules that move the stage that stores under a loop of their own: tiles the innermost loops of `store`,
/// one for each axis, and computes the sums of a tile inside. Returns the loops over tiles from the outside. A ScheduleError
/// where that cannot be.
std::vector<schedule::LoopRef> apply_contraction(schedule::State& state, const schedule::BlockRef& block,
                                                 const schedule::BlockRef& store, const ContractionPlan& plan);

}  // namespace tessera::topi
