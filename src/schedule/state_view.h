#pragma once
// The state of a schedule as users may look at it: statements by reference, and the dependencies of a scope.

#include "schedule/schedule.h"
#include "schedule/scope.h"

namespace tessera::schedule {

/// A loop or block of the program, whatever it is rewritten to. The same one is always the same object.
struct StmtSRefNode : Object {
  int64_t seq_index = -1;  // its position in the sequence it stands in; -1 where it stands alone
  static constexpr NodeInfo info{"tir.StmtSRef", &Object::info, Role::Identity};
  static void fields(auto f) { f("seq_index", &StmtSRefNode::seq_index); }

  State state{IRModule()};
  LoopRef loop;  // one of the two
  BlockRef block;
  bool is_loop = false;
};
using StmtSRef = Ref<StmtSRefNode>;

struct DependencyNode : Object {
  StmtSRef src, dst;
  int kind = 0;
  static constexpr NodeInfo info{"tir.Dependency", &Object::info};
  static void fields(auto f) {
    f("src", &DependencyNode::src);
    f("dst", &DependencyNode::dst);
    f("kind", &DependencyNode::kind);
  }
};
using Dependency = Ref<DependencyNode>;

/// The dependencies among the blocks directly inside a block.
struct BlockScopeNode : Object {
  Array<Dependency> dependencies;
  static constexpr NodeInfo info{"tir.BlockScope", &Object::info, Role::Identity};
  static void fields(auto f) { f("dependencies", &BlockScopeNode::dependencies); }
};
using BlockScope = Ref<BlockScopeNode>;

/// Shares the program of a schedule: it sees what primitives do to it.
struct ScheduleStateNode : Object {
  int debug_mask = 0;
  static constexpr NodeInfo info{"tir.ScheduleState", &Object::info, Role::Identity};
  static void fields(auto f) { f("debug_mask", &ScheduleStateNode::debug_mask); }

  State state{IRModule()};
};
using ScheduleState = Ref<ScheduleStateNode>;

}  // namespace tessera::schedule
