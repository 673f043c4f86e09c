#pragma once
// Mutators: each file of this folder changes one kind of decision.

#include "tune/meta_schedule/pieces.h"

namespace tessera::meta_schedule {

/// Moves a factor from one tile of a loop to another, or lets threads fetch by other vectors.
struct MutateTileSizeNode : MutatorNode {
  MutateTileSizeNode() { methods = &methods_of<MutateTileSizeNode>; }
  void initialize(const TuneContextNode&) {}
  Trace apply(const Trace& trace, int64_t* random);
  static constexpr NodeInfo info{"meta_schedule.MutateTileSize", &MutatorNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Lets another number of iterations be unrolled.
struct MutateUnrollNode : MutatorNode {
  MutateUnrollNode() { methods = &methods_of<MutateUnrollNode>; }
  void initialize(const TuneContextNode&) {}
  Trace apply(const Trace& trace, int64_t* random);
  static constexpr NodeInfo info{"meta_schedule.MutateUnroll", &MutatorNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Runs more or fewer loops in parallel.
struct MutateParallelNode : MutatorNode {
  int64_t max_jobs_per_core = 16, max_parallel = -1;
  IRModule mod{nullptr};
  MutateParallelNode() { methods = &methods_of<MutateParallelNode>; }
  void initialize(const TuneContextNode& context);
  Trace apply(const Trace& trace, int64_t* random);
  static constexpr NodeInfo info{"meta_schedule.MutateParallel", &MutatorNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Computes a block somewhere else.
struct MutateComputeLocationNode : MutatorNode {
  IRModule mod{nullptr};
  MutateComputeLocationNode() { methods = &methods_of<MutateComputeLocationNode>; }
  void initialize(const TuneContextNode& context) { mod = context.mod; }
  Trace apply(const Trace& trace, int64_t* random);
  static constexpr NodeInfo info{"meta_schedule.MutateComputeLocation", &MutatorNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Binds another number of threads.
struct MutateThreadBindingNode : MutatorNode {
  MutateThreadBindingNode() { methods = &methods_of<MutateThreadBindingNode>; }
  void initialize(const TuneContextNode&) {}
  Trace apply(const Trace& trace, int64_t* random);
  static constexpr NodeInfo info{"meta_schedule.MutateThreadBinding", &MutatorNode::info, Role::Identity};
  static void fields(auto) {}
};

// ---- mutator/decisions.cc ----------------------------------------------------------------------------------
/// A choice of one of several values: its instruction, the weights of the values, and the one taken.
struct Choice {
  Instruction inst;
  std::vector<double> weights;
  int64_t taken = 0;
};
/// Choices whose value is noted under one of the keys; with at least two values.
std::vector<Choice> choices_noted_as(const Trace& trace, const std::vector<std::string_view>& keys);
/// All of them, with at least two values.
std::vector<Choice> choices_of(const Trace& trace);
/// The trace with another value of the choice, as likely as its weight among the others says.
Trace with_other_choice(const Trace& trace, const Choice& choice, int64_t* random);

}  // namespace tessera::meta_schedule
