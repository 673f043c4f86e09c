#include "relay/transform/pass.h"

#include "relay/type/infer_type.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

bool is_left_alone(const FunctionNode* function) {
  return function->attrs.is_true(attr::kSkipOptimization) || function->attrs.has(attr::kCompiler);
}

IRModule apply(const FunctionChange& change, const IRModule& given, const PassContext& context) {
  IRModule mod = infer_type(given);
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || is_left_alone(relay)) continue;
    Function changed = change(Function(relay), mod, context);
    if (!changed.same_as(function)) out.update(var, changed);
  }
  return infer_type(out);
}

register_types<FunctionPassNode> pass_types;

}  // namespace

Pass function_pass(PassInfo info, FunctionChange change) {
  FunctionPassNode node;
  node.pass_info = std::move(info);
  node.run = [change = std::move(change)](const IRModule& mod, const PassContext& context) {
    return apply(change, mod, context);
  };
  return Pass(make(std::move(node)));
}

static Globals pass_globals{
    {"relay._transform.MakeFunctionPass",
     [](PackedFunc change, PassInfo info) {
       return function_pass(info, [change](const Function& function, const IRModule& mod, const PassContext& context) {
         return change(function, mod, context).to<Function>();
       });
     }},
};

}  // namespace tessera::relay
