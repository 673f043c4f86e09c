// BackwardFoldScaleAxis: a scale of a layer's result becomes part of its weight.
//
//   nn.relu(nn.conv2d(%x, %w) + %b) * %s    =>    nn.relu(nn.conv2d(%x, %w * %s) + %b * %s)       for s > 0
//
// First every value that is used once learns along which axes it could take a scale in; then each product whose other
// factor fits hands it down to the weights.

#include "base/stack.h"
#include "ir/rewrite.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/fold_scale_axis.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

class BackwardFold {
 public:
  explicit BackwardFold(const Expr& root) : uses_(use_counts(root)) {
    post_order(root, [&](const Expr& expr) {
      auto* call = expr.as<Call>();
      if (!call || uses_[call] != 1) return;
      if (MaybeScale message = can_take(call)) messages_.emplace(call, *message);
    });
    rewriter_.on([this](const Call* call) -> Expr { return changed(call); });
  }
  Expr operator()(const Expr& root) { return rewriter_(root); }

 private:
  const ScaleMessage* message_of(const Expr& expr) const {
    auto it = messages_.find(expr.get());
    return it == messages_.end() ? nullptr : &it->second;
  }

  MaybeScale can_take(const Call* call) const {
    if (auto layer = scaled_layer(call)) return ScaleMessage{with_block(layer->result, layer->result_block), false};
    if (keeps_positive_scale(call)) {
      const ScaleMessage* in = message_of(call->args[0]);
      return in ? MaybeScale({in->axes, true}) : std::nullopt;
    }
    if (op_name(call) == ops::bias_add) {
      const ScaleMessage* in = message_of(call->args[0]);
      return in && in->axes == std::vector<int>{bias_axis(call)} ? MaybeScale(*in) : std::nullopt;
    }
    if (!is_sum(call)) return std::nullopt;
    const Expr &lhs = call->args[0], &rhs = call->args[1];
    const ScaleMessage *a = message_of(lhs), *b = message_of(rhs);
    if (a && b && a->axes == b->axes && rank_of(lhs) == rank_of(rhs))
      return ScaleMessage{a->axes, a->require_positive || b->require_positive};
    if (a && broadcasts_along(lhs, rhs, a->axes)) return *a;
    if (b && broadcasts_along(rhs, lhs, b->axes)) return *b;
    return std::nullopt;
  }

  static int bias_axis(const Call* call) {
    int axis = call->attrs_as<BiasAddAttrs>()->axis;
    return axis < 0 ? axis + static_cast<int>(rank_of(call->args[0])) : axis;
  }

  Expr changed(const Call* call) {
    if (op_name(call) != ops::multiply) return rewriter_.children(call);
    for (size_t data : {0, 1}) {
      const Expr& factor = call->args[1 - data];
      const ScaleMessage* message = message_of(call->args[data]);
      if (!message || rank_of(call->args[data]) != rank_of(Expr(call))) continue;
      if (!factors_along(call->args[data], factor, *message)) continue;
      Expr now = rewriter_(factor);
      if (!now->checked_type_) now->checked_type_ = factor->checked_type_;
      if (Expr scale = factors_along(call->args[data], now, *message)) return scaled(call->args[data], scale);
    }
    return rewriter_.children(call);
  }

  /// `expr` times `scale`, taken in by the weights below it.
  Expr scaled(const Expr& expr, const Expr& scale) {
    return on_enough_stack([&] { return take(expr.as<Call>(), scale); });
  }

  Expr take(const Call* call, const Expr& scale) {
    const ScaleMessage& message = messages_.at(call);
    Array<Expr> args = call->args;
    if (auto layer = scaled_layer(call)) {
      args.set(0, rewriter_(args[0]));
      const std::vector<int> axes = with_block(layer->weight_out, layer->weight_out_block);
      args.set(1, multiply(rewriter_(args[1]), expand_to_axes(scale, axes, layer->weight_rank)));
    } else if (op_name(call) == ops::bias_add) {
      args.set(0, scaled(args[0], scale));
      args.set(1, multiply(rewriter_(args[1]), scale));
    } else if (is_sum(call)) {
      Expr factor = expand_to_axes(scale, message.axes, static_cast<int>(rank_of(Expr(call))));
      const ScaleMessage *a = message_of(args[0]), *b = message_of(args[1]);
      bool both = a && b && a->axes == message.axes && b->axes == message.axes && rank_of(args[0]) == rank_of(args[1]);
      bool left = both || (a && a->axes == message.axes && broadcasts_along(args[0], args[1], message.axes));
      for (size_t i : {0, 1}) {
        bool goes_down = both || (i == 0) == left;
        args.set(i, goes_down ? scaled(args[i], scale) : multiply(rewriter_(args[i]), factor));
      }
    } else {
      args.set(0, scaled(args[0], scale));
    }
    return with_args(call, args);
  }

  std::unordered_map<const Object*, int> uses_;
  std::unordered_map<const Object*, ScaleMessage> messages_;
  Rewriter rewriter_;
};

}  // namespace

Expr backward_fold_scale_axis(const Expr& body) { return BackwardFold(body)(body); }

}  // namespace tessera::relay
