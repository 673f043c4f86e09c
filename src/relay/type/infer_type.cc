#include "relay/type/infer_type.h"

#include <algorithm>

#include "ir/pass/pass_scope.h"
#include "ir/rewrite.h"
#include "relay/print_text.h"
#include "relay/transform/passes.h"
#include "relay/type/attach_types.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera::relay {

namespace {

void check_extents(const TensorTypeNode* tensor) {
  std::vector<int64_t> fixed;
  for (const PrimExpr& extent : tensor->shape)
    if (const int64_t* value = as_int(extent)) fixed.push_back(*value);
  if (std::any_of(fixed.begin(), fixed.end(), [](int64_t extent) { return extent < 0; }))
    throw Error(TypeError) << type_text(Type(tensor)) << " has a negative extent";
  tensor_bytes(fixed, tensor->dtype);  // an error where there are more than can be counted
}

}  // namespace

Type valid_type(const Type& type) {
  if (auto* tensor = type.as<TensorTypeNode>()) {
    check_extents(tensor);
    Array<PrimExpr> shape = tensor->shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      PrimExpr extent = shape[i];
      if (as_int(extent) || is_any(extent)) continue;
      PrimExpr any;
      walk(extent, [&](const AnyDim* inside) { any = PrimExpr(inside); });
      if (any) shape.set(i, any);
    }
    return with(tensor, &TensorTypeNode::shape, shape);
  }
  auto* tuple = type.as<TupleType>();
  if (!tuple) return type;
  Array<Type> fields = tuple->fields_;
  for (size_t i = 0; i < fields.size(); ++i) {
    Type field = valid_type(fields[i]);
    if (!field.same_as(fields[i])) fields.set(i, field);
  }
  return with(tuple, &TupleType::fields_, fields);
}

namespace {

/// What this thread typed last, while passes run. Functions do not change once made, so a module that has the very same ones
/// needs no second look: passes follow each other, and most change nothing. Maps are copied when they are changed while
/// someone holds them. When the outermost pass ends it is let go, and the weights with it.
struct LastTyped {
  Map<GlobalVar, BaseFunc> functions{nullptr};
  ObjectRef data_types;
};
thread_local LastTyped last_typed;

void remember(const IRModule& typed) {
  if (!PassScope::is_open()) return;
  if (!last_typed.functions.defined()) PassScope::at_end([] { last_typed = {}; });
  last_typed = {typed->functions, typed->type_definitions};
}

}  // namespace

IRModule infer_type(const IRModule& mod) {
  if (mod->functions.defined() && mod->functions.same_as(last_typed.functions) &&
      mod->type_definitions.same_as(last_typed.data_types))
    return mod.copy();
  Inference inference(mod);
  for (const auto& [var, function] : mod.sorted_functions())
    if (function.as<FunctionNode>()) inference.global(var);
  inference.finish();
  Attach attach(inference);
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    BaseFunc typed = downcast<BaseFunc>(attach(function));
    var->checked_type_ = typed->checked_type_;
    if (!typed.same_as(function)) out.update(var, typed);
  }
  remember(out);
  return out;
}

Expr infer_type(const Expr& expr, const IRModule& mod) {
  Inference inference(mod);
  inference.visit(expr);
  inference.finish();
  return Attach(inference)(expr);
}

Pass infer_type_pass() {
  return pass_over<IRModule>(infer_type_pass, [](const IRModule& mod) { return infer_type(mod); });
}

/// The type of an expression, which it and its parts have from then on.
static Type infer_type_local(const Expr& expr) {
  Inference inference{IRModule()};
  inference.visit(expr);
  inference.finish();
  Attach attach(inference);
  Type type = checked_type(attach(expr));
  attach.fill_given();
  return type;
}

static Globals infer_type_globals{
    {"relay._transform.InferTypeLocal", infer_type_local},
    {"relay.transform.infer_type_expr", [](Expr expr, IRModule mod) { return infer_type(expr, mod); }},
};

}  // namespace tessera::relay
