// LiftConstants: tensors that are constant inside a kernel of ours become its arguments, and so parameters of the model. They come
// there by the option relay.FuseOps.link_params, and by users who mark functions as primitive.
//
//   fn (%p0, Primitive=1) { add(%p0, meta[Constant]) }(%x)   =>   fn (%p0, %p1, Primitive=1) { add(%p0, %p1) }(%x, meta[Constant])
//
// Functions of external code generators and those that a kernel rule was chosen for keep theirs; numbers are part of the code.

#include "ir/rewrite.h"
#include "relay/make.h"
#include "relay/scopes.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

bool keeps_constants(const FunctionNode* function) {
  return !is_primitive(function) || function->attrs.has(attr::kCompiler) || function->attrs.has(attr::kKernelRule);
}

/// The function with constant tensors as parameters after its own, which are added to `args`.
Function lifted(const Function& function, Array<Expr>* args) {
  Array<Var> params = function->params;
  Expr body = tessera::rewrite(function->body, [&](const Constant* constant) -> Expr {
    if (constant->is_scalar()) return Expr(constant);
    Var param = make_local("p" + std::to_string(params.size()), checked_type(Expr(constant)));
    params.push_back(param);
    args->push_back(Expr(constant));
    return param;
  });
  if (params.size() == function->params.size()) return function;
  FunctionNode out(*function.get());
  out.params = params;
  out.body = body;
  out.checked_type_ = nullptr;
  return make(std::move(out));
}

}  // namespace

Expr lift_constants(const Expr& root) {
  return tessera::rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    auto* function = call->op.as<FunctionNode>();
    if (!function || keeps_constants(function)) return self.children(call);
    Array<Expr> args;
    for (const Expr& arg : call->args) args.push_back(self(arg));
    Function changed = lifted(Function(function), &args);
    if (changed.get() == function) return self.children(call);
    Call out(*call);
    out.op = changed;
    out.args = args;
    out.checked_type_ = nullptr;
    return make(std::move(out));
  });
}

}  // namespace tessera::relay
