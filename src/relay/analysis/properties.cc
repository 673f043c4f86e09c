#include "relay/analysis/properties.h"

#include "relay/scopes.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// True when `is_fine` holds of all Relay functions that this compiler compiles.
bool all_functions(const IRModule& mod, bool (*is_fine)(const Expr&)) {
  for (const auto& [var, each] : mod->functions) {
    auto* function = each.as<FunctionNode>();
    if (function && !function->attrs.has(attr::kCompiler) && !is_fine(Expr(function))) return false;
  }
  return true;
}

bool is_given_name(const Expr& expr) {
  return expr.as<OpNode>() || expr.as<GlobalVarNode>() || expr.as<ConstructorNode>();
}

bool is_typed(const Expr& root) {
  bool out = true;
  post_order(root, [&](const Expr& expr) { out = out && (is_given_name(expr) || expr->checked_type_); });
  return out;
}

/// Primitive functions are one operator, whatever they consist of.
bool is_a_normal_form(const Expr& root) {
  bool out = true;
  pre_order(root, [&](const Expr& expr) {
    auto* function = expr.as<FunctionNode>();
    if (function && is_primitive(function)) return false;
    each_operand(expr, [&](const Expr& part) { out = out && (part.as<VarNode>() || is_given_name(part)); });
    return out;
  });
  return out;
}

}  // namespace

const Property all_types_known{"all_types_known", [](const IRModule& mod) { return all_functions(mod, is_typed); }};
const Property a_normal_form{"a_normal_form", [](const IRModule& mod) { return all_functions(mod, is_a_normal_form); }};
const Property basic_block_normal_form{"basic_block_normal_form",
                                       [](const IRModule& mod) { return all_functions(mod, is_basic_block_form); }};

}  // namespace tessera::relay
