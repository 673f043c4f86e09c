#pragma once
// Primitives as schedule rules call them: each is noted in the trace of the schedule.

#include "schedule/schedule.h"

namespace tessera::meta_schedule {

using schedule::Cursor;
using schedule::Schedule;
using RV = ObjectRef;          // a block, a loop or a value of a schedule
using RVs = Array<ObjectRef>;  // an empty item of factors: what the others leave

class Traced {
 public:
  explicit Traced(Schedule sch) : sch_(std::move(sch)) {}

  const Schedule& sch() const { return sch_; }
  Cursor find(const RV& rv) const { return sch_->cursor(rv); }

  RV get_block(const String& name, const String& function) const;
  RVs get_loops(const RV& block) const { return run("GetLoops", {block}); }
  RVs get_consumers(const RV& block) const { return run("GetConsumers", {block}); }
  RVs get_producers(const RV& block) const { return run("GetProducers", {block}); }
  RVs get_child_blocks(const RV& block) const { return run("GetChildBlocks", {block}); }

  RVs sample_perfect_tile(const RV& loop, int parts, int max_innermost) const;
  /// Each as likely as the others.
  RV sample_categorical(const std::vector<int64_t>& candidates) const;
  RV sample_compute_location(const RV& block) const { return run("SampleComputeLocation", {block})[0]; }

  RVs split(const RV& loop, const RVs& factors) const;
  RV fuse(const RVs& loops) const { return run("Fuse", loops, {PrimExpr(1)})[0]; }
  void reorder(const RVs& loops) const { run("Reorder", loops); }
  RV add_unit_loop(const RV& around) const { return run("AddUnitLoop", {around})[0]; }
  void parallel(const RV& loop) const { run("Parallel", {loop}); }
  void vectorize(const RV& loop) const { run("Vectorize", {loop}); }
  void unroll(const RV& loop) const { run("Unroll", {loop}); }
  void bind(const RV& loop, const String& thread) const { run("Bind", {loop}, {thread}); }
  void annotate(const RV& rv, const String& key, const ObjectRef& value) const { run("Annotate", {rv, value}, {key}); }
  void unannotate(const RV& rv, const String& key) const { run("Unannotate", {rv}, {key}); }
  void set_scope(const RV& block, int buffer, const String& scope) const;
  void storage_align(const RV& block, int buffer, int axis, int factor, int offset) const;

  void compute_inline(const RV& block) const { run("ComputeInline", {block}); }
  void reverse_compute_inline(const RV& block) const { run("ReverseComputeInline", {block}); }
  RV cache_read(const RV& block, int buffer, const String& scope, const RVs& consumers) const;
  RV cache_write(const RV& block, int buffer, const String& scope) const;
  void compute_at(const RV& block, const RV& loop) const;
  void reverse_compute_at(const RV& block, const RV& loop) const;
  RV decompose_reduction(const RV& block, const RV& loop) const { return run("DecomposeReduction", {block, loop})[0]; }
  RV rfactor(const RV& loop, int axis) const { return run("RFactor", {loop}, {PrimExpr(axis)})[0]; }
  RV reindex(const RV& block, int buffer, bool is_write) const;
  void transform_layout(const RV& block, int buffer, bool is_write, const IndexMap& map) const;
  void transform_block_layout(const RV& block, const IndexMap& map) const;
  RV blockize(const RV& loop) const { return run("Blockize", {loop})[0]; }
  void tensorize(const RV& rv, const String& intrin) const { run("Tensorize", {rv}, {intrin}); }
  void enter_postproc() const { run("EnterPostproc", {}); }

 private:
  RVs run(const char* kind, const RVs& inputs, const RVs& attrs = {}) const {
    return schedule::run_instruction(*sch_.edit(), kind, inputs, attrs, ObjectRef());
  }
  Schedule sch_;
};

/// Keys of annotations by which rules, mutators and postprocessors speak to each other.
namespace note {
inline constexpr const char* kTilingStructure = "meta_schedule.tiling_structure";
inline constexpr const char* kCooperativeFetch = "meta_schedule.cooperative_fetch";
inline constexpr const char* kThreadExtentLow = "meta_schedule.thread_extent_low_inclusive";
inline constexpr const char* kThreadExtentHigh = "meta_schedule.thread_extent_high_inclusive";
inline constexpr const char* kRandomComputeProducer = "meta_schedule.random_compute_producer";
inline constexpr const char* kParallel = "meta_schedule.parallel";
inline constexpr const char* kVectorize = "meta_schedule.vectorize";
inline constexpr const char* kUnrollExplicit = "meta_schedule.unroll_explicit";
inline constexpr const char* kUnrollImplicit = "meta_schedule.unroll_implicit";
inline constexpr const char* kAutoTensorize = "meta_schedule.auto_tensorize";
inline constexpr const char* kAutoTensorizeInit = "meta_schedule.auto_tensorize_init";
inline constexpr const char* kWarpExecution = "warp_execution";  // a warp runs the block, not a thread
inline constexpr const char* kInlineRule = "meta_schedule.inline_rule";
inline constexpr const char* kWriteCacheLevel = "meta_schedule.write_cache_level";
inline constexpr const char* kScheduleRule = "schedule_rule";
inline constexpr const char* kLayoutFree = "layout_free_buffers";
}  // namespace note

}  // namespace tessera::meta_schedule
