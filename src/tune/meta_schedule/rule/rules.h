#pragma once
// The schedule rules: each file of this folder defines one.

#include <unordered_set>

#include "tune/meta_schedule/pieces.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {

/// What several threads may add up is: the reduction is split, and each part summed on its own (rfactor).
struct AddRFactorNode : ScheduleRuleNode {
  int64_t max_jobs_per_core = 16, max_innermost_factor = -1;
  int64_t max_spatial = 0, min_reduction = 0;
  AddRFactorNode() { methods = &methods_of<AddRFactorNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.AddRFactor", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Blocks that no other rule put on a GPU get threads.
struct AutoBindNode : ScheduleRuleNode {
  int64_t max_threadblocks = 256, max_threads = -1;
  std::vector<int64_t> thread_extents;
  AutoBindNode() { methods = &methods_of<AutoBindNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.AutoBind", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

struct AutoInlineNode : ScheduleRuleNode {
  bool into_producer = false, into_consumer = true, inline_const_tensor = true, disallow_if_then_else = true,
       require_injective = true, require_ordered = true;
  std::unordered_set<std::string> disallow_op;
  AutoInlineNode() { methods = &methods_of<AutoInlineNode>; }
  void initialize(const TuneContextNode&) {}
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.AutoInline", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

/// The threads of a block share a reduction, which is computed where its consumer is if that can be.
struct CrossThreadReductionNode : ScheduleRuleNode {
  std::vector<int64_t> thread_extents;
  int64_t max_threads = -1, warp_size = -1;
  CrossThreadReductionNode() { methods = &methods_of<CrossThreadReductionNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.CrossThreadReduction", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Notes on the root what the postprocessor RewriteParallelVectorizeUnroll does at the end.
struct ParallelizeVectorizeUnrollNode : ScheduleRuleNode {
  int64_t max_jobs_per_core = 16, max_vectorize_extent = 16, max_parallel = -1;
  std::vector<int64_t> unroll_max_steps;
  bool unroll_explicit = true;
  ParallelizeVectorizeUnrollNode() { methods = &methods_of<ParallelizeVectorizeUnrollNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.ParallelizeVectorizeUnroll", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

struct RandomComputeLocationNode : ScheduleRuleNode {
  RandomComputeLocationNode() { methods = &methods_of<RandomComputeLocationNode>; }
  void initialize(const TuneContextNode&) {}
  Array<Schedule> apply(const Schedule& sch, const RV& block);
  static constexpr NodeInfo info{"meta_schedule.RandomComputeLocation", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Threads for the loops of a block that has none: one blockIdx.x and one threadIdx.x. `factor` chooses the number of
/// threads, at most what it is given.
using FactorOfThreads = std::function<RV(int64_t most)>;
void bind_threads(const Traced& sch, const RV& block, int64_t max_threadblocks, int64_t max_threads,
                  const FactorOfThreads& factor);
/// One of the extents that are not too large.
FactorOfThreads sampled_factor(const Traced& sch, const std::vector<int64_t>& extents);

std::vector<int64_t> ints_of(const Array<PrimExpr>& values);

}  // namespace tessera::meta_schedule
