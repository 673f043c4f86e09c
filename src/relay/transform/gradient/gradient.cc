#include "relay/transform/gradient/gradient.h"

#include "relay/print_text.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "runtime/registry.h"

namespace tessera::relay {

bool holds_tensors(const Type& type) {
  if (type.as<TensorTypeNode>()) return true;
  auto* tuple = type.as<TupleType>();
  if (!tuple) return false;
  for (const Type& field : tuple->fields_)
    if (!holds_tensors(field)) return false;
  return true;
}

namespace {

Globals gradient_globals{
    {"relay._transform.first_order_gradient", [](Expr f, IRModule mod) { return first_order_gradient(f, mod); }},
    {"relay._transform.gradient", [](Expr f, IRModule mod) { return higher_order_gradient(f, mod); }},
};

}  // namespace

Pass first_order_gradient_pass() {
  return pass_over<IRModule>(first_order_gradient_pass, [](const IRModule& mod) {
    IRModule out = mod.copy();
    for (const auto& [var, function] : mod.sorted_functions())
      if (function.as<FunctionNode>()) out.update(var, first_order_gradient(function, mod));
    return out;
  });
}

Array<Expr> argument_gradients(const Op& op, const Expr& call, const Expr& gradient) {
  if (!op.has(kGradient))
    throw Error(NotImplementedError) << "the operator " << op->name
                                     << " has no gradient; relay.op.register_gradient gives it one";
  Array<Expr> out = op.slot(kGradient).to<PackedFunc>()(call, gradient).to<Array<Expr>>();
  size_t args = call.as<Call>()->args.size();
  if (out.size() != args)
    throw Error(ValueError) << "the gradient of " << op->name << " gives " << out.size() << " results for " << args
                            << " arguments";
  return out;
}

Function function_to_differentiate(const Expr& function, const IRModule& mod) {
  Expr definition = function;
  if (auto* global = function.as<GlobalVarNode>()) {
    if (!mod) throw Error(ValueError) << "the module of @" << global->name_hint << " is needed to differentiate it";
    definition = mod.lookup(global->name_hint);
  }
  if (!definition.as<FunctionNode>())
    throw Error(TypeError) << "only a function can be differentiated, not a " << definition->type_key();
  Function typed = downcast<Function>(infer_type(definition, mod ? mod : IRModule()));
  if (!typed->type_params.empty())
    throw Error(TypeError) << "a function with type parameters cannot be differentiated by itself";
  for (const Var& param : typed->params)
    if (!holds_tensors(checked_type(param)))
      throw Error(TypeError) << "gradients are of tensors; the parameter %" << param->name_hint() << " is a "
                             << type_text(checked_type(param));
  if (!holds_tensors(checked_type(typed->body)))
    throw Error(TypeError) << "the value of a function that is differentiated must be a tensor, not "
                           << type_text(checked_type(typed->body));
  return typed;
}

}  // namespace tessera::relay
