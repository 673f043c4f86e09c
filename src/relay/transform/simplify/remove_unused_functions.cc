// Functions that no entry function reaches are dropped.

#include <unordered_set>

#include "relay/transform/passes.h"
#include "relay/walk.h"

namespace tessera::relay {

IRModule remove_unused_functions(const IRModule& mod, const Array<String>& entries) {
  std::unordered_set<const Object*> used;
  std::vector<GlobalVar> todo;
  auto add = [&](const GlobalVar& var) {
    if (var && used.insert(var.get()).second) todo.push_back(var);
  };
  for (const String& name : entries) add(mod.get_global_var(name));
  while (!todo.empty()) {
    BaseFunc function = mod->functions.get_or_null(todo.back());
    todo.pop_back();
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      if (auto* global = expr.as<GlobalVarNode>()) add(mod.find_global_var(global->name_hint));
    });
  }
  IRModule out = mod.copy();
  for (const auto& [var, _] : mod->functions)
    if (!used.count(var.get())) out.remove(var);
  return out;
}

}  // namespace tessera::relay
