#pragma once
// Design spaces: each file of this folder gives them in its own way.

#include "tune/meta_schedule/pieces.h"

namespace tessera::meta_schedule {

/// Each rule on each block, consumers first; what a rule gives is what the next one starts from.
struct PostOrderApplyNode : SpaceGeneratorNode {
  PackedFunc block_filter;  // takes a block, true: rules are tried on it; empty: all blocks
  Array<ScheduleRule> rules;
  int64_t random = 1;
  PostOrderApplyNode() { methods = &methods_of<PostOrderApplyNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> generate(const IRModule& mod);
  static constexpr NodeInfo info{"meta_schedule.PostOrderApply", &SpaceGeneratorNode::info, Role::Identity};
  static void fields(auto) {}
};

/// What a user's function makes of a schedule: nothing (it changed it), a schedule, or several.
struct ScheduleFnNode : SpaceGeneratorNode {
  PackedFunc function;
  int64_t random = 1;
  ScheduleFnNode() { methods = &methods_of<ScheduleFnNode>; }
  void initialize(const TuneContextNode& context) { random = context.rand_state; }
  Array<Schedule> generate(const IRModule& mod);
  static constexpr NodeInfo info{"meta_schedule.ScheduleFn", &SpaceGeneratorNode::info, Role::Identity};
  static void fields(auto) {}
};

struct SpaceGeneratorUnionNode : SpaceGeneratorNode {
  Array<SpaceGenerator> generators;
  SpaceGeneratorUnionNode() { methods = &methods_of<SpaceGeneratorUnionNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> generate(const IRModule& mod);
  static constexpr NodeInfo info{"meta_schedule.SpaceGeneratorUnion", &SpaceGeneratorNode::info, Role::Identity};
  static void fields(auto) {}
};

/// The schedules that a result of a user's function means; `given` where it returned None.
Array<Schedule> schedules_of(const Any& result, const Schedule& given);

}  // namespace tessera::meta_schedule
