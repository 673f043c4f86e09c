// DynamicToStatic: an operator that takes a shape as a tensor becomes its static form where that tensor is known.
//
//   dyn.reshape(%x, shape_of(%y: (3, 4)))    =>    reshape(%x, newshape=[3, 4])
//
// Operators say their static forms themselves (the slot kStaticForm).

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/infer_type.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

/// What the operator says the call is; null where it stays as it is.
Expr static_form(const Call* call) {
  Any form = Op(call->op.as<OpNode>()).slot(kStaticForm);
  if (form.is_null()) return nullptr;
  Any out = form.to<PackedFunc>()(Expr(call));
  return out.is_null() ? nullptr : out.to<Expr>();
}

/// One walk from operands to users: shapes that become known on the way are used at once.
Expr make_static(const Expr& root, bool* changed_any) {
  return rewrite(root, [changed_any](Rewriter& self, const Call* call) -> Expr {
    Expr post = self.children(call);
    if (!call->op.as<OpNode>()) return post;
    if (post.get() != call) {
      Call fresh(*post.as<Call>());
      fresh.checked_type_ = nullptr;
      post = typed(make(std::move(fresh)));
    }
    if (Expr shape = shape_constant(post.as<Call>())) return shape;
    Expr out = static_form(post.as<Call>());
    if (!out) return post;
    *changed_any = true;
    return typed(out);
  });
}

bool has_dynamic(const Expr& root) {
  bool found = false;
  walk(root, [&](const Call* call) {
    auto* op = call->op.as<OpNode>();
    found = found || (op && Op(op).has(kStaticForm));
  });
  return found;
}

}  // namespace

namespace {

Function made_static(Function function, const IRModule& mod) {
  for (bool again = has_dynamic(function->body); again;) {
    again = false;
    Expr body = make_static(fold_constant(function->body), &again);
    FunctionNode next(*function);
    next.body = body;
    next.ret_type = again ? Type() : function->ret_type;
    next.checked_type_ = nullptr;
    function = downcast<Function>(infer_type(make(std::move(next)), mod));
    again = again && has_dynamic(function->body);
  }
  return function;
}

/// The value of an expression, where it can be typed and computed by itself.
Expr value_of(const Expr& expr) {
  if (expr.as<Constant>()) return expr;
  try {
    return fold_constant(infer_type(expr));
  } catch (const Error&) {
    return expr;
  }
}

/// What types cannot be told of before it is resolved: branches that a constant chooses (0 or not), and shapes whose number of
/// dimensions is known once they are computed.
Expr resolve_untyped(const Expr& root) {
  Rewriter rewriter;
  rewriter.on([](Rewriter& self, const If* branch) -> Expr {
    Expr cond = value_of(self(branch->cond));
    if (auto value = scalar_value(cond)) return self(*value != 0 ? branch->true_branch : branch->false_branch);
    auto out = with(branch, &If::cond, cond);
    out = with(out, &If::true_branch, self(branch->true_branch));
    return with(out, &If::false_branch, self(branch->false_branch));
  });
  rewriter.on([](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    auto* op = post->op.as<OpNode>();
    if (!op || !Op(op).has(kStaticForm)) return post;
    Array<Expr> args;
    for (const Expr& arg : post->args) args.push_back(value_of(arg));
    post = with(post, &Call::args, args);
    Expr out = static_form(post.get());
    return out ? out : Expr(post);
  });
  return rewriter(root);
}

IRModule resolved(const IRModule& mod) {
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions())
    if (auto* relay = function.as<FunctionNode>())
      out.update(var, Function(with(relay, &FunctionNode::body, resolve_untyped(relay->body))));
  return out;
}

bool is_typed(const IRModule& mod) {
  try {
    infer_type(mod);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Pass dynamic_to_static() {
  Pass typed = pass_over<Function>(dynamic_to_static, [](const Function& function, const IRModule& mod,
                                                         const PassContext&) { return made_static(function, mod); });
  FunctionPassNode node(*typed.as<FunctionPassNode>());
  node.run = [run = node.run](IRModule mod, const PassContext& context) {
    return run(is_typed(mod) ? mod : resolved(mod), context);
  };
  return Pass(make(std::move(node)));
}

}  // namespace tessera::relay
