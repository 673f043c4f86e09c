#pragma once
// Sums of products of two tensors as one matrix multiplication: matmuls, batched ones, and convolutions, whose matrix of
// windows is only in the indices (implicit GEMM).

#include <optional>

#include "topi/block_rule.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// Axes of the block as one number, the last of them runs fastest.
struct GemmAxes {
  std::vector<Var> vars;
  std::vector<PrimExpr> extents;
  int64_t known = 1;  // their product; -1 where it is known only at run time

  PrimExpr extent() const;
};

/// A factor, in variables of the block: an element of `load` where `condition` holds, else 0; or any `value` where `load` is empty.
struct GemmOperand {
  PrimExpr value;
  const BufferLoad* load = nullptr;
  PrimExpr condition;
  DataType dtype;
  double scale = 1;  // of all elements; it is no part of `value`

  // how it lies in memory, where extents are known and a number says where each element is
  Buffer flat;
  PrimExpr index;         // into `flat`, of the variables of the block
  int64_t k_lanes = 0;    // neighbours along k that one access may take; 0 where they are no neighbours
  int64_t row_lanes = 0;  // the same along the rows of A, or the columns of B
  bool is_linear_in_k = false,
       is_linear_in_row = false;  // the number alone says the offset; the condition does not ask for it
  bool lies_along_k() const { return k_lanes >= row_lanes; }
  int64_t lanes() const { return std::max<int64_t>({k_lanes, row_lanes, 1}); }
};

/// C[batch, m, n] = sum over k of A[batch, m, k] * B[batch, k, n], and its element-wise epilogue. Neighbours along n lie together in C,
/// as far as any do.
struct GpuContraction {
  schedule::BlockRef ref, epilogue_ref;
  const BlockNode* block = nullptr;
  const BlockNode* epilogue = nullptr;
  DataType dtype, sum;  // of the results, and of their sums: those of fp16 and bf16 are float32
  GemmAxes batch, m, n, k;
  GemmOperand a, b;

  /// By what sums of elements of `a` and `b` are multiplied.
  double scale() const { return a.scale * b.scale; }
  /// What is to be done with the sum of an element, whose numbers are given.
  Stmt store(const PrimExpr& batch, const PrimExpr& i, const PrimExpr& j, const PrimExpr& value) const;
  /// Whether neighbours along n are neighbours in what is stored, by an epilogue too.
  bool stores_columns_together() const;
  bool is_dynamic() const { return batch.known < 0 || m.known < 0 || n.known < 0 || k.known < 0; }
};

/// What a stage, and its epilogue where there is one, store where the sum of the element at these axes of the stage is `result`. An epilogue may
/// move elements: T[i, b, h, j] = f(C[b * heads + h, i, j]).
Stmt store_with_epilogue(const BlockNode* block, const BlockNode* epilogue, const Map<Var, PrimExpr>& at,
                         const PrimExpr& result);

/// An operand and batch axes, of which those whose digits it is indexed by (b / heads, b % heads) are several.
struct BatchedOperand {
  GemmOperand operand;
  GemmAxes batch;
};
BatchedOperand in_batch_digits(const GpuContraction& contraction, const GemmOperand& operand, const GemmAxes& rows);

/// Nothing where the block is none, or has no rows or no columns to share what is read.
std::optional<GpuContraction> as_gpu_contraction(const schedule::State& state, const schedule::BlockRef& block);

/// All that is decided. Every number is a knob.
struct GemmPlanNode : Object {
  bool by_matrix_units = false;      // mma.sync; else multiply-adds of threads
  bool copies_async = false;         // tiles go to shared memory by cp.async
  int32_t tile_m = 64, tile_n = 64;  // of a block of threads
  int32_t tile_k = 16;               // in shared memory at once
  int32_t stages = 1;                // tiles along k in shared memory
  int32_t part_m = 4, part_n = 4;    // of a thread, or of a warp with matrix units
  int32_t group = 8;                 // tiles along m that follow each other, for the cache
  int32_t a_lanes = 1, b_lanes = 1;  // of the accesses that copy
  int32_t blocks = 1;                // that a multiprocessor has registers for
  bool stores_wide = false;          // matrix units: results go through shared memory, to be stored by 16 bytes
  int32_t parts = 1;                 // of k, for blocks of their own: a second kernel adds up what they found
  bool turns = false;                // threads: tiles of factors that lie along k lie along the rows in shared memory
  static constexpr NodeInfo info{"topi.gpu.GemmPlan", &Object::info};
  static void fields(auto f) {
    f("by_matrix_units", &GemmPlanNode::by_matrix_units);
    f("copies_async", &GemmPlanNode::copies_async);
    f("tile_m", &GemmPlanNode::tile_m);
    f("tile_n", &GemmPlanNode::tile_n);
    f("tile_k", &GemmPlanNode::tile_k);
    f("stages", &GemmPlanNode::stages);
    f("part_m", &GemmPlanNode::part_m);
    f("part_n", &GemmPlanNode::part_n);
    f("group", &GemmPlanNode::group);
    f("a_lanes", &GemmPlanNode::a_lanes);
    f("b_lanes", &GemmPlanNode::b_lanes);
    f("blocks", &GemmPlanNode::blocks);
    f("stores_wide", &GemmPlanNode::stores_wide);
    f("parts", &GemmPlanNode::parts);
    f("turns", &GemmPlanNode::turns);
  }
  int64_t threads() const {
    const int64_t parts = int64_t{tile_m / part_m} * (tile_n / part_n);
    return by_matrix_units ? 32 * parts : parts;
  }
};
using GemmPlan = Ref<GemmPlanNode>;

/// The cheapest plan by the model of the machine; empty where none fits.
GemmPlan plan_gemm(const GpuContraction& contraction, const GpuMachine& machine);
/// A ScheduleError where the numbers of a plan do not fit the contraction or each other.
void check_gemm_plan(const GpuContraction& contraction, const GemmPlan& plan, const GpuMachine& machine);
/// Cycles of the machine.
double gemm_cost(const GpuContraction& contraction, const GemmPlan& plan, const GpuMachine& machine);

/// One kernel:
///   for tiles of C, blocks of threads:
///     for tiles along k: copy tiles of A and B to shared memory, some stages ahead; multiply
///     epilogue, store
Stmt gemm_nest(const GpuContraction& contraction, const GemmPlan& plan);

}  // namespace tessera::topi
