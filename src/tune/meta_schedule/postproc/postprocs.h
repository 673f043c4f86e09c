#pragma once
// Postprocessors: each file of this folder defines one.

#include "tune/meta_schedule/pieces.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {

/// Rejects programs with loops of unknown extent.
struct DisallowDynamicLoopNode : PostprocNode {
  DisallowDynamicLoopNode() { methods = &methods_of<DisallowDynamicLoopNode>; }
  void initialize(const TuneContextNode&) {}
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.DisallowDynamicLoop", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Divides the loops that fetch a copy among the threads that use it.
struct RewriteCooperativeFetchNode : PostprocNode {
  int64_t warp_size = 32;
  RewriteCooperativeFetchNode() { methods = &methods_of<RewriteCooperativeFetchNode>; }
  void initialize(const TuneContextNode& context);
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.RewriteCooperativeFetch", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Gives buffers whose layout is free the order in which they are read.
struct RewriteLayoutNode : PostprocNode {
  RewriteLayoutNode() { methods = &methods_of<RewriteLayoutNode>; }
  void initialize(const TuneContextNode&) {}
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.RewriteLayout", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Does what ParallelizeVectorizeUnroll noted on the root.
struct RewriteParallelVectorizeUnrollNode : PostprocNode {
  RewriteParallelVectorizeUnrollNode() { methods = &methods_of<RewriteParallelVectorizeUnrollNode>; }
  void initialize(const TuneContextNode&) {}
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.RewriteParallelVectorizeUnroll", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Gives the inits of reductions blocks of their own.
struct RewriteReductionBlockNode : PostprocNode {
  RewriteReductionBlockNode() { methods = &methods_of<RewriteReductionBlockNode>; }
  void initialize(const TuneContextNode&) {}
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.RewriteReductionBlock", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Replaces blocks by the intrinsics noted on them.
struct RewriteTensorizeNode : PostprocNode {
  bool vectorize_init_loop = false;
  RewriteTensorizeNode() { methods = &methods_of<RewriteTensorizeNode>; }
  void initialize(const TuneContextNode&) {}
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.RewriteTensorize", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Binds threads where no rule did.
struct RewriteUnboundBlockNode : PostprocNode {
  int64_t max_threadblocks = 256, max_threads = -1;
  RewriteUnboundBlockNode() { methods = &methods_of<RewriteUnboundBlockNode>; }
  void initialize(const TuneContextNode& context);
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.RewriteUnboundBlock", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Rejects programs that need more than the GPU has.
struct VerifyGPUCodeNode : PostprocNode {
  Target target;
  Map<String, PrimExpr> limits;
  VerifyGPUCodeNode() { methods = &methods_of<VerifyGPUCodeNode>; }
  void initialize(const TuneContextNode& context);
  bool apply(const Schedule& sch);
  static constexpr NodeInfo info{"meta_schedule.VerifyGPUCode", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

/// A random variable for a block of the program, by its name.
RV block_named_as(const Traced& sch, const Cursor& block);
/// Every block of the module, those around first.
std::vector<Cursor> blocks_of_module(const Schedule& sch);
/// Runs the postprocessors in order, after the decisions; false where one rejects, also with a ScheduleError.
bool postprocessed(const Schedule& sch, const Array<Postproc>& postprocs);

}  // namespace tessera::meta_schedule
