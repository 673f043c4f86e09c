#pragma once
// What rules that schedule programs of blocks share, whatever the target.

#include <functional>
#include <vector>

#include "schedule/primitives.h"

namespace tessera::topi {

/// Of a stage: many elements of its consumers share each of its own, and CPUs do not compute it anew for them.
inline constexpr const char* kComputedOnce = "computed_once";

/// A function under a rule: its state, and the blocks that stand for the stages of the program.
class BlockProgram {
  GlobalVar name_;

 public:
  explicit BlockProgram(const PrimFunc& function);
  BlockProgram(const BlockProgram&) = delete;

  schedule::State state;

  /// The stages in order; those that a rule removed are gone.
  std::vector<schedule::BlockRef> stages() const;
  PrimFunc function() const { return state.function(name_); }
  /// The function when all of it is scheduled.
  PrimFunc finished() const { return schedule::open_nests(function()); }

 private:
  schedule::BlockRef root_;
};

/// Runs a primitive; one that rejects leaves the program as it was.
template <class F>
bool attempt(F primitive) {
  try {
    primitive();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
    return false;
  }
}

/// All axes of the block are data parallel.
bool is_spatial(const schedule::Cursor& cursor);
/// The extents of the axes of a stage that stores one element, in plain loops of its own, each an axis from 0 on; empty where
/// a stage is another, or an extent is no number above 0.
std::vector<int64_t> plain_extents(const schedule::Cursor& cursor);
/// The same where extents may be known only at run time, then in 32 bits.
std::vector<PrimExpr> plain_axes(const schedule::Cursor& cursor);
/// The loops around a block that only carry spatial axes, from the outside.
std::vector<schedule::LoopRef> spatial_loops(const schedule::State& state, const schedule::BlockRef& block);
/// The extent of a loop, or -1 when it is not a number.
int64_t extent_of(const schedule::State& state, const schedule::LoopRef& loop);
/// The product of the extents that are numbers.
int64_t known_extent(const schedule::State& state, const std::vector<schedule::LoopRef>& loops);

/// Puts stages that reduce nothing into those that read them, except those that `stays` says it of.
void inline_elementwise(schedule::State& state, const std::vector<schedule::BlockRef>& blocks,
                        const std::function<bool(const schedule::BlockRef&)>& stays = {});
/// True when a rule has scheduled the block: the loops around it are not all as they were, or it is a nest. Other rules
/// leave it alone, and take it neither for the consumer nor for a producer of what they schedule.
bool is_scheduled(const schedule::Cursor& cursor);
/// A reduction over an axis that may be empty still gives its identity: the init gets loops of its own.
void keep_init(schedule::State& state, const schedule::BlockRef& block);

}  // namespace tessera::topi
