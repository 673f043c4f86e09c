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

Function dynamic_to_static(Function function, const IRModule& mod) {
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

}  // namespace tessera::relay
