// ForwardFoldScaleAxis: a scale of a layer's input becomes part of its weight.
//
//   nn.conv2d(nn.relu(%x * %s), %w)    =>    nn.conv2d(nn.relu(%x), %w * %s)       for s > 0, one per channel
//
// First every value learns along which axes all its users can take a scale; then products whose users can are split into
// value and scale, which travel together until a weight takes the scale in.

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/fold_scale_axis.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// A value on its way: stands for value * scale.
struct ScaledExpr : TempExprNode {
  Expr value, scale;
  std::vector<int> axes;
  static constexpr NodeInfo info{"relay.fold_scale_axis.ScaledExpr", &TempExprNode::info, Role::Identity};
  static void fields(auto f) {
    f("value", &ScaledExpr::value, Opaque);
    f("scale", &ScaledExpr::scale, Opaque);
  }
};
register_types<ScaledExpr> fold_scale_forward_types;

Expr scaled(Expr value, Expr scale, std::vector<int> axes) {
  ScaledExpr node;
  node.value = std::move(value);
  node.scale = std::move(scale);
  node.axes = std::move(axes);
  return make(std::move(node));
}

/// What all users of a value can take.
MaybeScale common(const MaybeScale& a, const MaybeScale& b) {
  if (!a || !b || a->axes != b->axes) return std::nullopt;
  return ScaleMessage{a->axes, a->require_positive || b->require_positive};
}

class ForwardFold {
 public:
  explicit ForwardFold(const Expr& root) {
    std::vector<Expr> order;
    post_order(root, [&](const Expr& expr) { order.push_back(expr); });
    offer(root, std::nullopt);
    for (size_t i = order.size(); i-- > 0;) ask(order[i]);
  }

  Expr operator()(const Expr& root) {
    return rewrite(root, [this](Rewriter& self, const Call* call) -> Expr {
      Array<Expr> args;
      for (const Expr& arg : call->args) args.push_back(self(arg));
      return changed(call, args);
    });
  }

 private:
  /// One more user of `expr`, and what it can take.
  void offer(const Expr& expr, const MaybeScale& message) {
    auto [it, is_first] = messages_.try_emplace(expr.get(), message);
    if (!is_first) it->second = common(it->second, message);
  }

  void ask(const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call) return each_child(expr, [&](const Expr& part) { offer(part, std::nullopt); });
    std::vector<MaybeScale> wanted = arguments_can_take(call, messages_[expr.get()]);
    for (size_t i = 0; i < call->args.size(); ++i) offer(call->args[i], i < wanted.size() ? wanted[i] : std::nullopt);
  }

  static std::vector<MaybeScale> arguments_can_take(const Call* call, const MaybeScale& out) {
    if (auto layer = scaled_layer(call)) return {ScaleMessage{with_block(layer->data, layer->data_block), false}};
    if (!out) return {};
    if (keeps_positive_scale(call)) return {ScaleMessage{out->axes, true}};
    if (!is_sum(call)) return {};
    const Expr &lhs = call->args[0], &rhs = call->args[1];
    if (broadcasts_along(lhs, rhs, out->axes)) return {out};
    if (broadcasts_along(rhs, lhs, out->axes)) return {std::nullopt, out};
    return {};
  }

  Expr changed(const Call* call, const Array<Expr>& args) {
    for (size_t i = 0; i < args.size(); ++i)
      if (auto* arg = args[i].as<ScaledExpr>()) return take(call, args, i, arg);
    if (op_name(call) == ops::multiply)
      if (Expr split = split_product(call, args)) return split;
    return with_args(call, args);
  }

  /// A call whose argument `i` is scaled: its users said that it can take that.
  Expr take(const Call* call, Array<Expr> args, size_t i, const ScaledExpr* arg) {
    args.set(i, arg->value);
    if (auto layer = scaled_layer(call)) {
      Expr scale = expand_to_axes(arg->scale, with_block(layer->weight_in, layer->weight_in_block), layer->weight_rank);
      args.set(1, multiply(args[1], scale));
      return with_args(call, args);
    }
    if (is_sum(call)) {  // a*s + b = (a + b/s)*s
      Expr scale = expand_to_axes(arg->scale, arg->axes, static_cast<int>(rank_of(call->args[i])));
      args.set(1 - i, divide(args[1 - i], scale));
    }
    return scaled(with_args(call, args), arg->scale, arg->axes);
  }

  Expr split_product(const Call* call, const Array<Expr>& args) {
    const MaybeScale& message = messages_[call];
    if (!message) return nullptr;
    for (size_t data : {0, 1}) {
      const Expr &value = call->args[data], &factor = call->args[1 - data];
      if (rank_of(value) != rank_of(Expr(call))) continue;
      if (!factors_along(value, factor, *message)) continue;
      Expr now = args[1 - data];
      if (now.get() != factor.get()) now->checked_type_ = factor->checked_type_;
      return scaled(args[data], factors_along(value, now, *message), message->axes);
    }
    return nullptr;
  }

  std::unordered_map<const Object*, MaybeScale> messages_;
};

}  // namespace

Expr forward_fold_scale_axis(const Expr& body) { return ForwardFold(body)(body); }

}  // namespace tessera::relay
