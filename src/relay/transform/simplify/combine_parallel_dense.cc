// CombineParallelDense into batches: dense layers of one tensor with weights of one shape are one batched matmul.
//
//   (nn.dense(%x, %w0), nn.dense(%x, %w1))  =>  split(nn.batch_matmul(stack((%x, %x)), stack((%w0, %w1))), 2)

#include "ir/structural/equal.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/combine_parallel.h"

namespace tessera::relay {
namespace {

class BatchCombiner final : public ParallelCombiner {
 public:
  explicit BatchCombiner(int min_branches) : ParallelCombiner(ops::dense, min_branches) {}

 private:
  static bool same_types(const Expr& a, const Expr& b) { return structural_equal(checked_type(a), checked_type(b)); }

  bool is_supported(const Call* call) const override { return rank_of(call->args[0]) == 2; }
  bool can_combine(const Call* a, const Call* b) const override {
    return a->attrs_as<DenseAttrs>()->out_dtype == b->attrs_as<DenseAttrs>()->out_dtype &&
           same_types(a->args[1], b->args[1]);
  }
  bool can_combine_argument(const Call* a, const Call* b, size_t i) const override {
    size_t rank = rank_of(a->args[i]);
    return (rank == 1 || rank == 2) && same_types(a->args[i], b->args[i]);
  }

  Expr combined(const std::vector<Branch>& branches) override {
    Array<Expr> data, weights;
    for (const Branch& branch : branches) {
      data.push_back(branch[0]->args[0]);
      weights.push_back(branch[0]->args[1]);
    }
    return call_op(ops::batch_matmul, {stack(data, 0), stack(weights, 0)}, make_attrs<BatchMatmulAttrs>([&](auto& a) {
                     a.out_dtype = branches[0][0]->attrs_as<DenseAttrs>()->out_dtype;
                     a.transpose_b = true;
                   }));
  }

  Expr combined_argument(const std::vector<Branch>& branches, size_t depth, size_t i) const override {
    Array<Expr> parts;
    for (const Branch& branch : branches) {
      Expr arg = branch[depth]->args[i];
      parts.push_back(rank_of(arg) == 1 ? expand_dims(arg, 0) : arg);
    }
    return stack(parts, 0);
  }

  Array<Expr> parts(const Expr& value, const std::vector<Branch>& branches) const override {
    Expr all = split(value, static_cast<int>(branches.size()), 0);
    Array<Expr> out;
    for (size_t i = 0; i < branches.size(); ++i) out.push_back(squeeze(make_get_item(all, static_cast<int>(i)), {0}));
    return out;
  }
};

}  // namespace

Function combine_parallel_dense(const Function& function, int min_branches, bool to_batch) {
  return to_batch ? combine_parallel(BatchCombiner(min_branches), function)
                  : widen_parallel_dense(function, min_branches);
}

}  // namespace tessera::relay
