#pragma once
// Unified static memory planning: the workspaces and constants of all functions of a module get fixed offsets in a few
// pools, which the entry function is given as arguments.
//
//   extract_buffer_info   what is allocated, how large, and what is live at the same time
//   algorithms            an offset in a pool for each (greedy_by_size, greedy_by_conflicts, hill_climb, or one of the user's)
//   convert               allocations become addresses in the pools
//
// An allocation takes part when its annotation `candidate_memory_pools` names pools (AssignPoolInfo writes it), its size is
// known, its memory is the global one, and no loop around it runs its iterations side by side.

#include "ir/target/memory_pools.h"
#include "tir/function.h"
#include "tir/transform/pass.h"

namespace tessera::usmp {

using PoolInfo = Ref<PoolInfoNode>;

/// The annotation of an allocation that lists the pools it may go to, the first one preferred.
inline constexpr const char* kCandidatePools = "candidate_memory_pools";
/// The attribute of functions that lists the pools among their parameters.
inline constexpr const char* kPoolArgs = "pool_args";

/// Of an allocation; -1 where it is not known.
int64_t bytes_of(DataType dtype, const Array<PrimExpr>& extents);

enum class BufferKind : int32_t { Intermediate = 0, Input = 1, Output = 2 };

/// An allocation to be placed. Changes on purpose: conflicts are known when all buffers are.
struct BufferInfoNode : Object {
  String name_hint;
  Integer size_bytes;
  Array<PoolInfo> pool_candidates;
  Integer alignment;
  Array<ObjectRef> conflicts;  // the buffers that are live at the same time
  BufferKind kind = BufferKind::Intermediate;
  static constexpr NodeInfo info{"tir.usmp.BufferInfo", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("name_hint", &BufferInfoNode::name_hint);
    f("size_bytes", &BufferInfoNode::size_bytes);
    f("pool_candidates", &BufferInfoNode::pool_candidates);
    f("alignment", &BufferInfoNode::alignment);
    f("conflicts", &BufferInfoNode::conflicts);
    f("kind", &BufferInfoNode::kind);
  }
};
using BufferInfo = Ref<BufferInfoNode>;

/// The pool and offset of a buffer.
struct PoolAllocationNode : Object {
  PoolInfo pool_info;
  Integer byte_offset;
  static constexpr NodeInfo info{"tir.usmp.PoolAllocation", &Object::info};
  static void fields(auto f) {
    f("pool_info", &PoolAllocationNode::pool_info);
    f("byte_offset", &PoolAllocationNode::byte_offset);
  }
};
using PoolAllocation = Ref<PoolAllocationNode>;

/// A pool, how many bytes of it the module needs, and which parameter of the function it is.
struct AllocatedPoolInfoNode : Object {
  PoolInfo pool_info;
  Integer allocated_size, pool_var_idx;
  static constexpr NodeInfo info{"tir.usmp.AllocatedPoolInfo", &Object::info};
  static void fields(auto f) {
    f("pool_info", &AllocatedPoolInfoNode::pool_info);
    f("allocated_size", &AllocatedPoolInfoNode::allocated_size);
    f("pool_var_idx", &AllocatedPoolInfoNode::pool_var_idx);
  }
};
using AllocatedPoolInfo = Ref<AllocatedPoolInfoNode>;

/// The buffers of a module with the statements that allocate them. `memory_pressure`: the most bytes that are live at one
/// time, below which no plan can come.
struct BufferInfoAnalysisNode : Object {
  Map<BufferInfo, Stmt> buffer_info_stmts;
  Integer memory_pressure;
  static constexpr NodeInfo info{"tir.usmp.BufferInfoAnalysis", &Object::info};
  static void fields(auto f) {
    f("buffer_info_stmts", &BufferInfoAnalysisNode::buffer_info_stmts);
    f("memory_pressure", &BufferInfoAnalysisNode::memory_pressure);
  }
};
using BufferInfoAnalysis = Ref<BufferInfoAnalysisNode>;

using PoolAllocations = Map<BufferInfo, PoolAllocation>;

Integer integer(int64_t value);

/// The function that the others are called from: "__tvm_main__", "main", or the only one.
GlobalVar entry_of(const IRModule& mod);
/// The function of the module that the call names, by GlobalVar or as the text that calls of foreign and packed functions begin
/// with; empty for others. `first` is where its arguments begin.
PrimFunc callee_of(const Call* call, const IRModule& mod, size_t* first);

/// What `main` and the functions that it calls allocate. Functions must be free of blocks.
BufferInfoAnalysis extract_buffer_info(const PrimFunc& main, const IRModule& mod);

/// Allocates each buffer by the algorithm of that name; a RuntimeError when the pools are too small.
PoolAllocations plan(const String& algorithm, const Array<BufferInfo>& buffers, int64_t memory_pressure);

/// Allocations become addresses in pools: each function that needs pools, itself or in what it calls, takes them as its last
/// parameters. `printable` leaves out the attributes that scripts have no words for.
IRModule convert_pool_allocations_to_offsets(IRModule mod, const Map<Stmt, PoolAllocation>& allocations,
                                             bool printable);

/// Gives every buffer its offset in a pool by the algorithm that the context names: AssignPoolInfo,
/// extract_buffer_info, plan and convert_pool_allocations_to_offsets in one.
IRModule unified_static_memory_planner(IRModule mod, const PassContext& context);

/// Names in each allocation without candidates the pools of the module that its function's target can reach.
IRModule assign_pool_info(IRModule mod);

}  // namespace tessera::usmp
