#include "relay/transform/fuse/kernel_groups.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// The function of one group, as it is found from its root.
class Kernel {
 public:
  Kernel(const KernelGroup& group, Rewriter& outside) : group_(group), outside_(outside) {}

  Expr call() {
    Expr root(group_.root), body = inside(root);
    DictAttrs attrs = DictAttrs().with(attr::kPrimitive, int_imm(DataType::Int(32), 1));
    attrs = attrs.with(attr::kKernelRule, String(group_.rule));
    Expr out = make_call(make_function(params_, body, checked_type(root), {}, attrs), arguments_);
    out->virtual_device_ = root->virtual_device_;
    return out;
  }

 private:
  Expr inside(const Expr& expr) {
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second;
    Expr out = group_.members.count(expr.get()) ? member(expr) : argument(expr);
    done_.emplace(expr.get(), out);
    return out;
  }

  Expr member(const Expr& expr) {
    if (expr.as<Constant>()) return expr;
    if (auto* call = expr.as<Call>()) return with(call, &Call::args, all(with_numbers(call)));
    if (auto* tuple = expr.as<Tuple>()) return with(tuple, &Tuple::fields_, all(tuple->fields_));
    auto* get = expr.as<TupleGetItem>();
    ICHECK(get) << "a kernel is made of calls, tuples and their items";
    return with(get, &TupleGetItem::tuple, inside(get->tuple));
  }

  /// The arguments of a function of elements, constants of one float as numbers where they broadcast nothing else.
  static Array<Expr> with_numbers(const Call* call) {
    Array<Expr> out = call->args;
    auto* op = call->op.as<OpNode>();
    if (!op || out.size() != 2 || call->attrs.defined() || fusion_of(Op(op)) != Fusion::Broadcast) return out;
    for (size_t i : {0, 1}) {
      const std::optional<double> value = scalar_value(out[i]);
      if (value && dtype_of(out[i]).is_floating() && rank_of(out[1 - i]) == rank_of(Expr(call)))
        out.set(i, make_scalar(*value, dtype_of(out[i])));
    }
    return out;
  }

  Array<Expr> all(const Array<Expr>& exprs) {
    Array<Expr> out;
    for (const Expr& expr : exprs) out.push_back(inside(expr));
    return out;
  }

  Expr argument(const Expr& expr) {
    if (auto* constant = expr.as<Constant>(); constant && constant->is_scalar()) return expr;
    params_.push_back(make_local("p" + std::to_string(params_.size()), checked_type(expr)));
    arguments_.push_back(outside_(expr));
    return params_.back();
  }

  const KernelGroup& group_;
  Rewriter& outside_;
  Array<Var> params_;
  Array<Expr> arguments_;
  std::unordered_map<const Object*, Expr> done_;
};

}  // namespace

Consumers::Consumers(const Expr& body) {
  consumers_[body.get()].push_back(nullptr);
  post_order(body, [&](const Expr& expr) {
    position_.emplace(expr.get(), order_.size());
    order_.push_back(expr);
    const bool computes = expr.as<Call>() || expr.as<Tuple>() || expr.as<TupleGetItem>();
    each_child(expr, [&](const Expr& child) {
      std::vector<const RelayExprNode*>& consumers = consumers_[child.get()];
      const RelayExprNode* consumer = computes ? expr.get() : nullptr;
      if (consumers.empty() || consumers.back() != consumer) consumers.push_back(consumer);
    });
  });
}

const std::vector<const RelayExprNode*>& Consumers::of(const Expr& expr) const {
  static const std::vector<const RelayExprNode*> none;
  auto it = consumers_.find(expr.get());
  return it == consumers_.end() ? none : it->second;
}

const RelayExprNode* Consumers::only(const Expr& expr) const {
  const std::vector<const RelayExprNode*>& consumers = of(expr);
  return consumers.size() == 1 ? consumers[0] : nullptr;
}

Expr close_groups(const Expr& body, const std::vector<KernelGroup>& groups) {
  if (groups.empty()) return body;
  std::unordered_map<const Object*, const KernelGroup*> by_root;
  for (const KernelGroup& group : groups) by_root.emplace(group.root, &group);
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
    auto it = by_root.find(call);
    return it == by_root.end() ? Expr(self.children(call)) : Kernel(*it->second, self).call();
  });
  rewriter.on([](Rewriter& self, const FunctionNode* function) -> Expr {
    return function->attrs.is_true(attr::kPrimitive) ? Expr(function) : Expr(self.children(function));
  });
  return rewriter(body);
}

}  // namespace tessera::relay
