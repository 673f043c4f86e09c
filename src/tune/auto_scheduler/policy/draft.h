#pragma once
// Steps of rules, one call each, and questions about states.

#include <set>
#include <string>

#include "tune/auto_scheduler/policy/sketch.h"

namespace tessera::auto_scheduler {

/// A state that a rule changes. Loops are given and returned as positions.
class Draft {
 public:
  Draft(const State& state, const ComputeDAGNode* dag) : node_(*state), dag_(dag) {}
  Draft(const State& state, const SketchPolicyNode& policy) : Draft(state, policy.dag()) {}
  const StateNode* operator->() const { return &node_; }
  StateNode* node() { return &node_; }
  State finish() const { return make(StateNode(node_)); }
  const Stage stage(int id) const { return node_.stages[StateNode::at(id)]; }

  void add(const Step& step) { apply_step(&node_, step, dag_); }
  void annotate(int stage, int iter, Annotation annotation);
  int fuse(int stage, const std::vector<int>& iters);  // the position of what they became
  void pragma(int stage, int iter, const std::string& type);
  void reorder(int stage, const std::vector<int>& order);
  void split(int stage, int iter, const std::vector<int64_t>& lengths);  // loops iter, iter + 1, ...
  void follow_split(int stage, int iter, int source, int parts);
  void follow_fused_split(int stage, int iter, const std::vector<int>& sources, int level, bool factor);
  void compute_at(int stage, int target, int iter);
  void compute_inline(int stage);
  void compute_root(int stage);
  int cache_read(int stage, const std::string& scope, const std::vector<int>& readers);  // the new stage
  int cache_write(int stage, const std::string& scope);
  int rfactor(int stage, int iter, int factor_iter);
  /// The number of the last step.
  int last_step() const { return static_cast<int>(node_.transform_steps.size()) - 1; }

 private:
  StateNode node_;
  const ComputeDAGNode* dag_;
};

inline Stage stage_at(const State& state, int stage) { return state->stages[StateNode::at(stage)]; }
/// What is known of a stage's operation now.
const OpFacts& facts_of(const SketchPolicyNode& policy, const State& state, int stage);
bool needs_tiling(const SketchPolicyNode& policy, const State& state, int stage);
bool has_reduce_loop(const Stage& stage);
inline bool is_placeholder(const Stage& stage) { return stage->op.as<te::PlaceholderOp>() != nullptr; }
/// Its loops come from splits of the same axes.
bool is_tiled(const Stage& stage);
bool has_cache_write(const State& state, int stage);
bool has_rfactor(const State& state, int stage);
bool has_cross_thread_reduction(const State& state, int stage);
bool has_annotation(const Stage& stage, Annotation annotation);
/// Names of the axes that a loop comes from: "i.0@j.0@" comes from i and j.
void add_original_names(const std::string& name, std::set<std::string>* out);
/// An attribute of the operation says that the operand may be laid out anew.
bool is_layout_free(const te::Operation& op, const te::Operation& operand);
/// The names that an attribute of the operation lists.
std::set<std::string> names_in_attr(const Stage& stage, const char* key);

/// Stages that read a stage, through those that are inlined.
std::set<int> consumers_of(const SketchPolicyNode& policy, const State& state, int stage);
/// Stages that a stage reads: through inlined ones, or only directly.
std::set<int> producers_of(const SketchPolicyNode& policy, const State& state, int stage, bool only_direct = false);
/// The only consumer; -1 where there are more, or none.
int single_consumer(const SketchPolicyNode& policy, const State& state, int stage);
int common_outer_loops(const SketchPolicyNode& policy, const State& state, int stage, int target);
/// The only consumer that reads it element by element; -1 where there is none.
int elementwise_consumer(const SketchPolicyNode& policy, const State& state, int stage);
/// Extents of space loops multiplied, and of reduce loops; -1 where one is not known.
std::pair<int64_t, int64_t> space_and_reduce_lengths(const Stage& stage);

/// Splits and reorders a stage by a structure such as "SSRSRS"; the steps that split its space loops.
std::vector<int> tile_by_levels(Draft* draft, int stage, const std::string& structure);
/// The last reduce loop of the outermost tile: each axis was met once.
int last_loop_of_outer_reduce_tile(const Stage& stage);
/// Splits a consumer as the stage it reads was split, down to a level.
void follow_tiling(Draft* draft, int stage, const std::vector<int>& split_steps, int level);
/// Makes all reduce loops one; its position, and how many space loops there are.
std::pair<int, int> fuse_reduce_loops(Draft* draft, int stage);
/// The steps that split the space loops of a stage.
std::vector<int> space_split_steps(const State& state, int stage);
/// Where a stage may be computed: pairs of a stage and a loop.
std::vector<std::pair<int, int>> compute_locations(const SketchPolicyNode& policy, const State& state, int stage);
bool is_stage_adding(const Step& step);

inline constexpr const char* kNoSplitAtInner = "auto_scheduler_no_split_at_inner";
inline constexpr const char* kAlwaysUnrollInner = "auto_scheduler_always_unroll_inner";
inline constexpr const char* kSimplifyConstTensor = "auto_scheduler_simplify_const_tensor_indices";

}  // namespace tessera::auto_scheduler
