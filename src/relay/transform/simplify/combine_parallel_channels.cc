// CombineParallelConv2D, CombineParallelDense (without batches), CombineParallelBatchMatmul, CombineProducts: weights
// are concatenated along the output channels, the result is split into parts.
//
//   (nn.conv2d(%x, %w0), nn.conv2d(%x, %w1))  =>  %0 = nn.conv2d(%x, concatenate((%w0, %w1))); (slice of %0, slice of %0)

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/combine_parallel.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

Expr slice_of_size(const Expr& data, const std::vector<int64_t>& begin, const std::vector<int64_t>& size) {
  return call_op(ops::strided_slice, {data}, make_attrs<StridedSliceAttrs>([&](auto& a) {
                   a.begin = int_array(begin);
                   a.end = int_array(size);
                   a.strides = int_array(std::vector<int64_t>(begin.size(), 1));
                   a.slice_mode = "size";
                 }));
}

bool same_but(const Array<PrimExpr>& a, const Array<PrimExpr>& b, size_t axis) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (i != axis && !structural_equal(a[i], b[i])) return false;
  return true;
}

class ChannelCombiner : public ParallelCombiner {
 public:
  using ParallelCombiner::ParallelCombiner;

 protected:
  virtual size_t out_axis(const Call* call) const = 0;     // of the channels, in the result
  virtual size_t weight_axis(const Call* call) const = 0;  // in the weight
  virtual Attrs widened(const Attrs& attrs, int64_t channels) const { return (void)channels, attrs; }

  static Array<PrimExpr> shape(const Expr& expr) { return tensor_type(expr)->shape; }

  int64_t channels(const Call* call) const {
    const int64_t* out = as_int(shape(Expr(call))[out_axis(call)]);
    return out ? *out : -1;
  }

  bool weights_fit(const Call* a, const Call* b) const {
    if (channels(a) < 0 || channels(b) < 0 || dtype_of(a->args[1]) != dtype_of(b->args[1])) return false;
    return same_but(shape(a->args[1]), shape(b->args[1]), weight_axis(a));
  }

  bool can_combine_argument(const Call* a, const Call* b, size_t i) const override {
    Array<PrimExpr> x = shape(a->args[i]), y = shape(b->args[i]), out = shape(Expr(a));
    size_t axis = axis_from_end(x.size(), out.size());
    if (axis >= x.size() || dtype_of(a->args[i]) != dtype_of(b->args[i]) || !same_but(x, y, axis)) return false;
    size_t channel = axis + out.size() - x.size();
    return structural_equal(x[axis], out[channel]) && structural_equal(y[axis], shape(Expr(b))[channel]);
  }

  Expr combined(const std::vector<Branch>& branches) override {
    const Call* first = branches[0][0];
    channel_axis_ = out_axis(first);
    out_rank_ = rank_of(Expr(first));
    Array<Expr> weights;
    int64_t total = 0;
    for (const Branch& branch : branches) {
      weights.push_back(branch[0]->args[1]);
      total += channels(branch[0]);
    }
    Expr weight = concatenate(weights, static_cast<int>(weight_axis(first)));
    return make_call(first->op, {first->args[0], weight}, widened(first->attrs, total));
  }

  Expr combined_argument(const std::vector<Branch>& branches, size_t depth, size_t i) const override {
    Array<Expr> parts;
    for (const Branch& branch : branches) parts.push_back(branch[depth]->args[i]);
    return concatenate(parts, static_cast<int>(axis_from_end(rank_of(parts[0]), out_rank_)));
  }

  Array<Expr> parts(const Expr& value, const std::vector<Branch>& branches) const override {
    Array<Expr> out;
    std::vector<int64_t> begin(channel_axis_ + 1, 0), size(channel_axis_ + 1, -1);
    for (const Branch& branch : branches) {
      size.back() = channels(branch[0]);
      out.push_back(slice_of_size(value, begin, size));
      begin.back() += size.back();
    }
    return out;
  }

 private:
  /// The axis of the channels in an operand that broadcasts to the result; out of range where it has none.
  size_t axis_from_end(size_t rank, size_t out_rank) const { return channel_axis_ + rank - out_rank; }

  size_t channel_axis_ = 0, out_rank_ = 0;  // of the group at hand
};

class Conv2DCombiner final : public ChannelCombiner {
 public:
  explicit Conv2DCombiner(int min_branches) : ChannelCombiner(ops::conv2d, min_branches) {}

 private:
  static Layout out_layout(const ConvAttrs* attrs) {
    return make_layout(attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout);
  }
  static bool has_blocks(const Layout& layout) {
    for (size_t i = 0; i < layout->axes.size(); ++i)
      if (!layout->is_primal(i)) return true;
    return false;
  }
  size_t out_axis(const Call* call) const override {
    return static_cast<size_t>(out_layout(call->attrs_as<Conv2DAttrs>())->index_of('C'));
  }
  size_t weight_axis(const Call* call) const override {
    return static_cast<size_t>(make_layout(call->attrs_as<Conv2DAttrs>()->kernel_layout)->index_of('O'));
  }
  bool is_supported(const Call* call) const override {
    auto* attrs = call->attrs_as<Conv2DAttrs>();
    return attrs->groups == 1 && !has_blocks(make_layout(attrs->kernel_layout)) && !has_blocks(out_layout(attrs));
  }
  bool can_combine(const Call* a, const Call* b) const override {
    Conv2DAttrs x(*a->attrs_as<Conv2DAttrs>()), y(*b->attrs_as<Conv2DAttrs>());
    x.channels = y.channels = nullptr;
    return structural_equal(make(std::move(x)), make(std::move(y))) && weights_fit(a, b);
  }
  Attrs widened(const Attrs& attrs, int64_t channels) const override {
    return changed_attrs<Conv2DAttrs>(attrs, [&](auto& a) { a.channels = int_imm(DataType::Int(32), channels); });
  }
};

class DenseCombiner : public ChannelCombiner {
 public:
  explicit DenseCombiner(int min_branches) : ChannelCombiner(ops::dense, min_branches) {}

 private:
  size_t out_axis(const Call* call) const override { return rank_of(Expr(call)) - 1; }
  size_t weight_axis(const Call*) const override { return 0; }
  bool is_supported(const Call*) const override { return true; }
  bool can_combine(const Call* a, const Call* b) const override {
    return a->attrs_as<DenseAttrs>()->out_dtype == b->attrs_as<DenseAttrs>()->out_dtype && weights_fit(a, b);
  }
  Attrs widened(const Attrs& attrs, int64_t channels) const override {
    return changed_attrs<DenseAttrs>(attrs, [&](auto& a) { a.units = int_imm(DataType::Int(32), channels); });
  }
};

class MatmulCombiner : public ChannelCombiner {
 public:
  explicit MatmulCombiner(int min_branches) : ChannelCombiner(ops::matmul, min_branches) {}

 private:
  size_t out_axis(const Call* call) const override { return rank_of(Expr(call)) - 1; }
  size_t weight_axis(const Call* call) const override { return call->attrs_as<MatmulAttrs>()->transpose_b ? 0 : 1; }
  bool is_supported(const Call*) const override { return true; }
  bool can_combine(const Call* a, const Call* b) const override {
    MatmulAttrs x(*a->attrs_as<MatmulAttrs>()), y(*b->attrs_as<MatmulAttrs>());
    x.units = y.units = nullptr;
    return structural_equal(make(std::move(x)), make(std::move(y))) && weights_fit(a, b);
  }
  Attrs widened(const Attrs& attrs, int64_t channels) const override {
    return changed_attrs<MatmulAttrs>(attrs, [&](auto& a) {
      if (a.units.defined()) a.units = int_imm(DataType::Int(32), channels);
    });
  }
};

/// Matmuls with constant weights, which are concatenated while compiling. They share the input's panels, and have one end
/// at which threads wait. Splitting the result costs nothing where what reads a part moves its elements anyway: the
/// heads of attention, and nothing else is taken.
template <class Combiner>
class OfConstants final : public Combiner {
 public:
  using Combiner::Combiner;

 private:
  bool is_supported(const Call* call) const override { return call->args[1].template as<Constant>(); }
  bool pays(const std::vector<Branch>& branches, const Users& users) const override {
    if (branches.size() < 2) return false;
    return std::all_of(branches.begin(), branches.end(), [&](const Branch& branch) {
      const std::vector<Expr>& consumers = users.at(branch.back());
      return std::all_of(consumers.begin(), consumers.end(),
                         [&](const Expr& consumer) { return moves(consumer, users, 3); });
    });
  }
  /// A transposition, or at most `views` views up to one.
  static bool moves(const Expr& consumer, const Users& users, int views) {
    auto* call = consumer ? consumer.as<Call>() : nullptr;
    if (!call) return false;
    if (op_name(call) == ops::transpose) return true;
    if (op_name(call) != ops::reshape || views == 0) return false;
    const std::vector<Expr>& next = users.at(call);
    return std::all_of(next.begin(), next.end(), [&](const Expr& after) { return moves(after, users, views - 1); });
  }
};

class BatchMatmulCombiner final : public ChannelCombiner {
 public:
  explicit BatchMatmulCombiner(int min_branches) : ChannelCombiner(ops::batch_matmul, min_branches) {}

 private:
  size_t out_axis(const Call*) const override { return 2; }
  size_t weight_axis(const Call*) const override { return 1; }
  bool is_supported(const Call* call) const override {
    auto* attrs = call->attrs_as<BatchMatmulAttrs>();
    return !attrs->transpose_a && attrs->transpose_b;
  }
  bool can_combine(const Call* a, const Call* b) const override {
    return structural_equal(a->attrs, b->attrs) && weights_fit(a, b);
  }
  bool can_combine_argument(const Call*, const Call*, size_t) const override { return false; }
};

template <class Combiner>
Pass pass_of_constants() {
  return pass_over<Function>(combine_products_pass, [](const Function& function) {
    return combine_parallel(OfConstants<Combiner>(2), function);
  });
}

}  // namespace

Function combine_parallel_conv2d(const Function& function, int min_branches) {
  return combine_parallel(Conv2DCombiner(min_branches), function);
}

Function combine_parallel_batch_matmul(const Function& function, int min_branches) {
  return combine_parallel(BatchMatmulCombiner(min_branches), function);
}

Function widen_parallel_dense(const Function& function, int min_branches) {
  return combine_parallel(DenseCombiner(min_branches), function);
}

Pass combine_products_pass() {
  return sequential({pass_of_constants<DenseCombiner>(), pass_of_constants<MatmulCombiner>()});
}

}  // namespace tessera::relay
