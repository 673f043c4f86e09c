#pragma once
// Attention as one kernel: scores stay on the chip, softmax goes along with tiles of keys and values. By wgmma (sm_90a) they stay in
// registers; by multiply-adds of threads, on any GPU, their exponentials pass through shared memory.

#include <optional>

#include "topi/block_rule.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/tensor_operand.h"

namespace tessera::topi {

/// Programs of four stages, element-wise ones being inside of their consumers:
///   S[b, i, j] = sum over k of Q[b, i, k] * K[b, j, k]
///   M[b, i] = max over j of score(S[b, i, j]),  L[b, i] = sum over j of exp(score(S[b, i, j]) - M[b, i])
///   O[b, i, n] = sum over j of exp(score(S[b, i, j]) - M[b, i]) / L[b, i] * V[b, j, n], and its epilogue
struct AttentionProgram {
  GpuContraction scores, values;
  Var sum;           // stands for S in `score`
  PrimExpr score;    // in float32, of `sum` and the axes of `values`
  double scale = 1;  // score = scale * sum, where is_scaled
  bool is_scaled = false;
  std::vector<schedule::BlockRef> stages;  // that become one, the last one last

  /// Of an element whose sum is given.
  PrimExpr score_at(const PrimExpr& of_sum, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column) const;
};
std::optional<AttentionProgram> as_attention_program(const BlockProgram& program);

// ---- by wgmma --------------------------------------------------------------------------------------------------------

struct GpuAttention : AttentionProgram {
  TensorOperand q, k, v;

  int64_t depth_lines() const { return ceil_div(scores.k.known, q.line()); }
  /// Columns of values in shared memory.
  int64_t width() const { return ceil_div(values.n.known, v.line()) * v.line(); }
};
/// Nothing where the program is another, or the copy engine does not take its tensors.
std::optional<GpuAttention> as_gpu_attention(const BlockProgram& program, const GpuMachine& machine);

/// Whether a kernel of wgmma is made for attention of that size: what a pass asks before it makes one program of it.
struct GpuAttentionSize {
  int64_t rows = 0, columns = 0;  // queries and keys
  int64_t depth = 0, width = 0;   // elements of a query, and of a value
};
bool has_gpu_attention(const GpuAttentionSize& size, DataType dtype, const GpuMachine& machine);

/// Every number is a knob.
struct GpuAttentionPlanNode : Object {
  int32_t groups = 2;     // warp groups that multiply, each 64 rows; one more copies
  int32_t columns = 128;  // keys at once
  int32_t stages = 2;     // tiles of keys and of values in shared memory
  bool by_turns = true;   // while a warp group multiplies, another computes its exponentials
  static constexpr NodeInfo info{"topi.gpu.AttentionPlan", &Object::info};
  static void fields(auto f) {
    f("groups", &GpuAttentionPlanNode::groups);
    f("columns", &GpuAttentionPlanNode::columns);
    f("stages", &GpuAttentionPlanNode::stages);
    f("by_turns", &GpuAttentionPlanNode::by_turns);
  }
  int64_t threads() const { return 128 * (int64_t{groups} + 1); }
  int64_t rows() const { return 64 * int64_t{groups}; }
};
using GpuAttentionPlan = Ref<GpuAttentionPlanNode>;

GpuAttentionPlan plan_gpu_attention(const GpuAttention& attention, const GpuMachine& machine);
/// A ScheduleError where the numbers of a plan do not fit the program or each other.
void check_gpu_attention(const GpuAttention& attention, const GpuAttentionPlan& plan, const GpuMachine& machine);

inline constexpr int64_t kAttentionBarrierBytes = 8;
int64_t gpu_attention_shared_bytes(const GpuAttention& attention, const GpuAttentionPlan& plan);

/// One kernel; a block takes rows of one matrix:
///   copies:      Q; for tiles of keys: wait until a stage is empty, copy K, copy V
///   multiplies:  for tiles of keys: S = Q K^T while O += P V of the tile before runs; m, l and P of S; O *= what m has changed by
///                O /= l, epilogue, store
Stmt gpu_attention_nest(const GpuAttention& attention, const GpuAttentionPlan& plan);

// ---- by threads ------------------------------------------------------------------------------------------------------

/// Every number is a knob.
struct ThreadAttentionPlanNode : Object {
  int32_t rows = 64, columns = 64;  // queries of a block of threads, and keys at once
  int32_t part = 4;                 // rows of a thread; 16 threads share them
  static constexpr NodeInfo info{"topi.gpu.ThreadAttentionPlan", &Object::info};
  static void fields(auto f) {
    f("rows", &ThreadAttentionPlanNode::rows);
    f("columns", &ThreadAttentionPlanNode::columns);
    f("part", &ThreadAttentionPlanNode::part);
  }
};
using ThreadAttentionPlan = Ref<ThreadAttentionPlanNode>;

/// Empty where no tiles fit shared memory, or the program has extents that are known only at run time.
ThreadAttentionPlan plan_thread_attention(const AttentionProgram& attention, const GpuMachine& machine);
/// The same for attention of a size: what a pass asks before it makes one program of it.
bool has_thread_attention(const GpuAttentionSize& size, const GpuMachine& machine);
void check_thread_attention(const AttentionProgram& attention, const ThreadAttentionPlan& plan,
                            const GpuMachine& machine);

/// One kernel; a block takes rows of one matrix:
///   copy Q; for tiles of keys: copy K and V; S = Q K^T; m, l and P of S; O = O * what m has changed by + P V
///   O /= l, epilogue, store
Stmt thread_attention_nest(const AttentionProgram& attention, const ThreadAttentionPlan& plan);

}  // namespace tessera::topi
