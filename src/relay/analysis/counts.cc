// Numbers and lists that a model is described by: multiplications, fused functions, transposed weights.

#include "ir/structural/equal.h"
#include "relay/analysis/cost.h"
#include "relay/op_names.h"
#include "relay/scopes.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// Multiply-accumulates of convolutions and matmuls, over the whole expression.
int64_t total_mac_number(const Expr& root) {
  int64_t out = 0;
  post_order(root, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call) return;
    Cost cost = cost_of(call);
    if (cost.macs && cost.is_dynamic)
      throw Error(ValueError) << "get_total_mac_number needs static shapes, not " << to_text(checked_type(expr));
    out += cost.macs;
  });
  return out;
}

/// The primitive functions of a module, each distinct one once, under the text of their structural hash.
IRModule fused_functions(const IRModule& mod) {
  IRModule out;
  for (const auto& [_, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      auto* inner = expr.as<FunctionNode>();
      if (!inner || !is_primitive(inner)) return;
      String name(std::to_string(static_cast<uint64_t>(structural_hash(expr))));
      if (out.find_global_var(name)) return;
      GlobalVarNode var;
      var.name_hint = name;
      out.update(make(std::move(var)), Function(inner));
    });
  }
  return out;
}

/// Names of the weights w in nn.dense(x, transpose(w, axes=[1, 0])).
Array<String> transposed_weights(const Expr& root) {
  Array<String> out;
  post_order(root, [&](const Expr& expr) {
    auto* dense = expr.as<Call>();
    auto* op = dense ? dense->op.as<OpNode>() : nullptr;
    if (!op || op->name != ops::dense) return;
    auto* transpose = dense->args[1].as<Call>();
    auto* inner = transpose ? transpose->op.as<OpNode>() : nullptr;
    if (!inner || inner->name != ops::transpose) return;
    if (auto* weight = transpose->args[0].as<VarNode>()) out.push_back(weight->name_hint());
  });
  return out;
}

Globals counts_globals{
    {"relay.analysis.GetTotalMacNumber", total_mac_number},
    {"relay.analysis.ExtractFusedFunctions", fused_functions},
    {"relay.analysis.search_fc_transpose", transposed_weights},
};

}  // namespace
}  // namespace tessera::relay
