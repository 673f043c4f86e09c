// Constructors and globals that are used as values become functions that call them:
//
//   let %f = @g; %f(0)   =>   let %f = fn (%x) { @g(%x) }; %f(0)
//
// Where they are called they stay as they are.

#include "ir/module_types.h"
#include "ir/rewrite.h"
#include "relay/pattern.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {
namespace {

/// A function of the parameters of `type` that calls `callee`.
Expr call_through(const Expr& callee, const FuncType* type) {
  Array<Var> params;
  Array<Expr> args;
  for (const Type& arg : type->arg_types) {
    params.push_back(make_local("eta_expand_param", arg));
    args.push_back(params.back());
  }
  Array<Type> type_args;
  for (const TypeVar& param : type->type_params) type_args.push_back(param);
  return make_function(params, make_call(callee, args, nullptr, type_args), type->ret_type, type->type_params);
}

/// The type of a constructor: from its fields to the data type, for all parameters of that.
Ref<FuncType> constructor_type(const ConstructorNode* constructor, const IRModule& mod) {
  TypeData data = find_type(mod, constructor->belong_to);
  if (!data)
    throw Error(ValueError) << "the data type of " << constructor->name_hint << " is not defined in the module";
  TypeCall result;
  result.func = constructor->belong_to;
  FuncType out;
  for (const TypeVar& var : data->type_vars) {
    result.args.push_back(var);
    out.type_params.push_back(var);
  }
  out.arg_types = constructor->inputs;
  out.ret_type = make(std::move(result));
  return make(std::move(out));
}

IRModule expanded(const IRModule& mod, bool constructors, bool globals) {
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    Rewriter rewriter;
    rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
      Call copy(*call);
      if (!call->op.as<ConstructorNode>() && !call->op.as<GlobalVarNode>()) copy.op = self(call->op);
      copy.args = {};
      for (const Expr& arg : call->args) copy.args.push_back(self(arg));
      return make(std::move(copy));
    });
    rewriter.on([&](const ConstructorNode* constructor) -> Expr {
      if (!constructors) return Expr(constructor);
      return call_through(Expr(constructor), constructor_type(constructor, mod).get());
    });
    rewriter.on([&](const GlobalVarNode* global) -> Expr {
      GlobalVar known = mod.find_global_var(global->name_hint);
      if (!globals || !known || !mod->functions[known].as<FunctionNode>()) return Expr(global);
      auto* type = checked_type(mod->functions[known]).as<FuncType>();
      ICHECK(type) << "a function has the type of one";
      return call_through(Expr(global), type);
    });
    rewriter.on([&](const PatternNode* pattern) -> ObjectRef { return ObjectRef(pattern); });
    auto* relay = function.as<FunctionNode>();
    Expr body = rewriter(relay->body);
    if (!body.same_as(relay->body)) out.update(var, with(relay, &FunctionNode::body, body));
  }
  return out;
}

}  // namespace

IRModule eta_expand(const IRModule& mod, bool expand_constructor, bool expand_global_var) {
  return infer_type(expanded(infer_type(mod), expand_constructor, expand_global_var));
}

}  // namespace tessera::relay
