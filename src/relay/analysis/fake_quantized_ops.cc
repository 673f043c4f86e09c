// How often each operator stands between qnn.dequantize and qnn.quantize, where FakeQuantizationToInteger would look at it.

#include <map>
#include <unordered_set>
#include <vector>

#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// The calls between a quantize and the dequantizes it comes from, each once. None where something else is on the way: a
/// variable that is not quantized, a branch, a scope.
std::vector<const Call*> region_of(const Call* quantize) {
  std::vector<const Call*> out;
  std::vector<Expr> todo{quantize->args[0]};
  std::unordered_set<const Object*> seen;
  while (!todo.empty()) {
    Expr expr = todo.back();
    todo.pop_back();
    if (!seen.insert(expr.get()).second || expr.as<Constant>()) continue;
    if (auto* tuple = expr.as<Tuple>()) {
      for (const Expr& field : tuple->fields_) todo.push_back(field);
    } else if (auto* get = expr.as<TupleGetItem>()) {
      todo.push_back(get->tuple);
    } else if (auto* call = expr.as<Call>(); call && call->op.as<OpNode>()) {
      if (op_name(call) == ops::qnn_dequantize) continue;
      out.push_back(call);
      for (const Expr& arg : call->args) todo.push_back(arg);
    } else {
      return {};
    }
  }
  return out;
}

Map<String, ObjectRef> fake_quantized_counts(const IRModule& mod) {
  std::map<std::string, int64_t> counts;
  for (const auto& [var, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      auto* call = expr.as<Call>();
      if (!call || op_name(call) != ops::qnn_quantize) return;
      for (const Call* inner : region_of(call))
        if (op_name(inner) != ops::qnn_quantize) ++counts[std::string(op_name(inner))];
    });
  }
  Map<String, ObjectRef> out;
  for (const auto& [name, count] : counts) out.set(String(name), int_imm(DataType::Int(64), count));
  return out;
}

Globals fake_quantized_ops_globals{{"relay.analysis.list_fake_quantized_op_freqs", fake_quantized_counts}};

}  // namespace
}  // namespace tessera::relay
