#pragma once
// Attention in one kernel: a block of rows of the first matmul goes through softmax and the second matmul while it is in
// the cache. The matmuls go through panels and micro-kernels, each in one step of k.

#include "ir/target/target.h"
#include "te/schedule.h"
#include "topi/cpu/machine.h"
#include "topi/nn/matmul.h"

namespace tessera::topi {

/// How both matmuls are tiled. Every number is a knob: the result is right for any value that `check_attention` lets pass.
struct AttentionPlanNode : Object {
  int32_t lanes = 1;
  int32_t rows = 1;                        // of a tile of either matmul
  int32_t vectors = 1, value_vectors = 1;  // of a tile of scores, and of the result
  int32_t block_rows = 1;                  // tiles of rows that go through together
  int32_t task_blocks = 1;                 // blocks of one task
  static constexpr NodeInfo info{"topi.cpu.AttentionPlan", &Object::info};
  static void fields(auto f) {
    f("lanes", &AttentionPlanNode::lanes);
    f("rows", &AttentionPlanNode::rows);
    f("vectors", &AttentionPlanNode::vectors);
    f("value_vectors", &AttentionPlanNode::value_vectors);
    f("block_rows", &AttentionPlanNode::block_rows);
    f("task_blocks", &AttentionPlanNode::task_blocks);
  }
};
using AttentionPlan = Ref<AttentionPlanNode>;

struct AttentionSize {
  int64_t batch = 1;    // heads of all samples
  int64_t rows = 0;     // queries
  int64_t columns = 0;  // keys
  int64_t depth = 0;    // elements of a query
  int64_t width = 0;    // elements of a value
};
/// The cheapest plan.
AttentionPlan plan_attention(const Machine& machine, const AttentionSize& size, DataType dtype);
/// A ScheduleError where the numbers of a plan do not fit the machine or each other.
void check_attention(const AttentionPlan& plan, const Machine& machine, DataType dtype);

/// The first and the second matmul, of (batch, rows, depth) and (batch, depth, columns), either of which may be transposed.
te::Tensor attention_scores(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options,
                            const AttentionPlan& plan);
te::Tensor attention_values(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options,
                            const AttentionPlan& plan);

/// `x` in another shape. Dimensions are matched from the left, one or several with one or several of as many elements, so that
/// an index beyond the end of one, which the last tile may have, does not reach into another.
te::Tensor view_by_dimensions(const te::Tensor& x, const Array<PrimExpr>& shape);

/// The schedule of the only tensor of `outs`, which comes from `attention_values` of `softmax_rows` of `attention_scores`.
te::Schedule schedule_attention(const Array<te::Tensor>& outs, const AttentionPlan& plan, const Target& target);

}  // namespace tessera::topi
