#pragma once
// The steps of a search: one node type each, and one row of functions. A step changes a state, changes a TE schedule in the
// same way, prints itself as Python, and is written into records.

#include "tune/auto_scheduler/state.h"

namespace tessera::auto_scheduler {

struct ComputeDAGNode;

// ---- the steps ---------------------------------------------------------------------------------------------

struct AnnotationStep : StepNode {
  int32_t iter_id = 0;
  Annotation annotation = Annotation::None;
  static constexpr NodeInfo info{"auto_scheduler.AnnotationStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &AnnotationStep::iter_id);
    f("annotation", &AnnotationStep::annotation);
  }
};
struct FuseStep : StepNode {
  std::vector<int> fused_ids;
  static constexpr NodeInfo info{"auto_scheduler.FuseStep", &StepNode::info, Role::Identity};
  static void fields(auto) {}
};
struct PragmaStep : StepNode {
  int32_t iter_id = 0;
  String pragma_type;
  static constexpr NodeInfo info{"auto_scheduler.PragmaStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &PragmaStep::iter_id);
    f("pragma_type", &PragmaStep::pragma_type);
  }
};
struct ReorderStep : StepNode {
  std::vector<int> after_ids;
  static constexpr NodeInfo info{"auto_scheduler.ReorderStep", &StepNode::info, Role::Identity};
  static void fields(auto) {}
};
/// Lengths are those of all loops but the outermost (or but the innermost, where not inner_to_outer); 0 is to be chosen.
struct SplitStep : StepNode {
  int32_t iter_id = 0;
  int64_t extent = 0;  // 0 where it is not known
  std::vector<int64_t> lengths;
  bool inner_to_outer = true;
  static constexpr NodeInfo info{"auto_scheduler.SplitStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &SplitStep::iter_id);
    f("extent", &SplitStep::extent);
    f("inner_to_outer", &SplitStep::inner_to_outer);
  }
};
/// The first n_split - 1 lengths of another split, and the rest of them multiplied.
struct FollowSplitStep : StepNode {
  int32_t iter_id = 0, src_step_id = 0, n_split = 0;
  static constexpr NodeInfo info{"auto_scheduler.FollowSplitStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &FollowSplitStep::iter_id);
    f("src_step_id", &FollowSplitStep::src_step_id);
    f("n_split", &FollowSplitStep::n_split);
  }
};
/// One length: those of a level of several splits multiplied.
struct FollowFusedSplitStep : StepNode {
  int32_t iter_id = 0, level = 0;
  std::vector<int> src_step_ids;
  bool factor_or_nparts = true;
  static constexpr NodeInfo info{"auto_scheduler.FollowFusedSplitStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &FollowFusedSplitStep::iter_id);
    f("level", &FollowFusedSplitStep::level);
    f("factor_or_nparts", &FollowFusedSplitStep::factor_or_nparts);
  }
};
struct StorageAlignStep : StepNode {
  int32_t iter_id = 0, factor = 0, offset = 0;
  static constexpr NodeInfo info{"auto_scheduler.StorageAlignStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &StorageAlignStep::iter_id);
    f("factor", &StorageAlignStep::factor);
    f("offset", &StorageAlignStep::offset);
  }
};
struct ComputeAtStep : StepNode {
  int32_t target_stage_id = 0, target_iter_id = 0;
  static constexpr NodeInfo info{"auto_scheduler.ComputeAtStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("target_stage_id", &ComputeAtStep::target_stage_id);
    f("target_iter_id", &ComputeAtStep::target_iter_id);
  }
};
struct ComputeInlineStep : StepNode {
  static constexpr NodeInfo info{"auto_scheduler.ComputeInlineStep", &StepNode::info, Role::Identity};
  static void fields(auto) {}
};
struct ComputeRootStep : StepNode {
  static constexpr NodeInfo info{"auto_scheduler.ComputeRootStep", &StepNode::info, Role::Identity};
  static void fields(auto) {}
};
struct CacheReadStep : StepNode {
  String scope_name;
  std::vector<int> reader_stage_ids;
  static constexpr NodeInfo info{"auto_scheduler.CacheReadStep", &StepNode::info, Role::Identity};
  static void fields(auto f) { f("scope_name", &CacheReadStep::scope_name); }
};
struct CacheWriteStep : StepNode {
  String scope_name;
  static constexpr NodeInfo info{"auto_scheduler.CacheWriteStep", &StepNode::info, Role::Identity};
  static void fields(auto f) { f("scope_name", &CacheWriteStep::scope_name); }
};
struct RfactorStep : StepNode {
  int32_t iter_id = 0, factor_iter_id = 0;
  static constexpr NodeInfo info{"auto_scheduler.RfactorStep", &StepNode::info, Role::Identity};
  static void fields(auto f) {
    f("iter_id", &RfactorStep::iter_id);
    f("factor_iter_id", &RfactorStep::factor_iter_id);
  }
};

// ---- doing them --------------------------------------------------------------------------------------------

/// A TE schedule that steps are applied to, its stages in the order of the state's, and the loops of each.
struct Replay {
  te::Schedule schedule;
  std::vector<te::Stage> stages;
  std::vector<std::vector<IterVar>> axes;
  const Array<Step>* steps = nullptr;  // all that are applied, for those that look at earlier ones
  std::string python;                  // what was done, as a program
  bool writes_python = false;          // whether that is wanted
  bool only_graph = false;             // for its operations alone: splits without lengths may be of any

  /// The stage has the axes of its operation and no others.
  void reset_axes(size_t stage);
  void insert_stage(size_t position, const te::Stage& stage);
};

/// What is done with a kind of step.
struct StepRow {
  const NodeInfo* info;
  const char* code;  // in records
  void (*to_state)(const StepNode*, StateNode*, const ComputeDAGNode*);
  void (*to_schedule)(const StepNode*, Replay*);
  std::string (*write)(const StepNode*);  // the rest of its list in a record
  Step (*read)(const std::vector<ObjectRef>& items);
};
const std::vector<StepRow>& step_rows();
const StepRow& row_of(const StepNode* step);

/// Rows by subject.
std::vector<StepRow> loop_step_rows();
std::vector<StepRow> split_step_rows();
std::vector<StepRow> stage_step_rows();
std::vector<StepRow> graph_step_rows();

/// Adds a step to a state and does it. A step that does not fit is a ValueError.
void apply_step(StateNode* state, const Step& step, const ComputeDAGNode* dag);

/// The lengths that a following split takes from the steps before it; 0 where one is to be chosen.
std::vector<int64_t> lengths_to_follow(const FollowSplitStep* step, const Array<Step>& steps);
int64_t length_to_follow(const FollowFusedSplitStep* step, const Array<Step>& steps);

/// A loop of a stage, or an error that says what there is.
void check_stage(const StateNode* state, int stage);
void check_iter(const StateNode* state, int stage, int iter);

}  // namespace tessera::auto_scheduler
