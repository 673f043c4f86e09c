// relay.ext.dnnl: a function as a graph that the runtime of oneDNN interprets.

#include <utility>
#include <vector>

#include "byoc/json_codegen.h"
#include "relay/walk.h"
#include "runtime/external/dnnl/runtime.h"
#include "runtime/registry.h"

namespace tessera::byoc {
namespace {

using relay::Call;
using relay::Expr;

bool is_call_of(const Call* call, std::initializer_list<const char*> names) {
  auto* op = call->op.as<OpNode>();
  for (const char* name : names)
    if (op && op->name == name) return true;
  return false;
}

bool is_contraction(const Call* call) {
  return is_call_of(call, {"nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
                           "nn.conv3d_transpose", "nn.dense", "nn.batch_matmul", "nn.matmul"});
}

/// The parameter that an operand is, whatever its shape is made to be on the way.
const Object* parameter(Expr expr) {
  for (;;) {
    if (expr.as<relay::VarNode>()) return expr.get();
    auto* call = expr.as<Call>();
    if (!call || !is_call_of(call, {"expand_dims", "reshape", "squeeze"})) return nullptr;
    expr = call->args[0];
  }
}

using Roles = std::vector<std::pair<std::string, const Object*>>;

/// Roles by the positions of the parameters that have them.
Map<String, Array<String>> positions(const relay::FunctionNode* composite, const Roles& roles) {
  Map<String, Array<String>> out;
  for (const auto& [role, wanted] : roles)
    for (size_t i = 0; i < composite->params.size(); ++i)
      if (composite->params[i].get() == wanted) out.set(String(role), {String(std::to_string(i))});
  return out;
}

/// Which argument of a contraction with an epilogue is what, as attributes "input_data", "input_weight", ...: of what is added, the
/// first is the bias if the name says that there is one, the next is summed up. One argument may be several.
Map<String, Array<String>> roles_of(const relay::FunctionNode* composite) {
  std::string name = downcast<String>(composite->attrs.get_attr(relay::attr::kComposite)).str();
  bool has_bias = name.find("_bias") != name.npos;
  Roles roles;
  relay::post_order(composite->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call) return;
    if (is_contraction(call)) {
      roles.emplace_back("input_data", call->args[0].get());
      roles.emplace_back("input_weight", call->args[1].get());
    } else if (is_call_of(call, {"add", "nn.bias_add"})) {
      for (const Expr& arg : call->args)
        if (const Object* param = parameter(arg))
          roles.emplace_back(std::exchange(has_bias, false) ? "input_bias" : "input_sum", param);
    }
  });
  return positions(composite, roles);
}

/// A layer of int8, of the form
///   cast(clip(round(f + zero_point)))    f = clip((cast(layer(data, weight)) + bias) * scale)
/// or, with "_sum" in its name,           f = clip(...) * act_scale + cast(sum) * sum_scale
Map<String, Array<String>> quantized_roles_of(const relay::FunctionNode* composite) {
  Roles roles;
  auto call_of = [](const Expr& expr, std::initializer_list<const char*> names) -> const Call* {
    auto* call = expr.as<Call>();
    return call && is_call_of(call, names) ? call : nullptr;
  };
  relay::post_order(composite->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call) return;
    if (is_contraction(call)) {
      roles.emplace_back("input_data", call->args[0].get());
      roles.emplace_back("input_weight", call->args[1].get());
    } else if (is_call_of(call, {"add"})) {
      auto* first = call_of(call->args[0], {"cast"});
      auto* layer = first ? first->args[0].as<Call>() : nullptr;
      if (layer && is_contraction(layer)) roles.emplace_back("input_bias", call->args[1].get());
      else if (call->args[1].as<relay::VarNode>()) roles.emplace_back("input_zero_point", call->args[1].get());
    } else if (is_call_of(call, {"multiply"})) {
      auto* summand = call_of(call->args[0], {"cast"});
      const bool is_clipped = call_of(call->args[0], {"clip"}) != nullptr;
      roles.emplace_back(summand      ? "input_sum_scale"
                         : is_clipped ? "input_act_scale"
                                      : "input_scale",
                         call->args[1].get());
      if (summand) roles.emplace_back("input_sum", summand->args[0].get());
    }
  });
  return positions(composite, roles);
}

Map<String, Array<String>> all_roles_of(const relay::FunctionNode* composite) {
  const std::string name = downcast<String>(composite->attrs.get_attr(relay::attr::kComposite)).str();
  return name.starts_with("dnnl.qnn.") ? quantized_roles_of(composite) : roles_of(composite);
}

Module generate(relay::Function function) {
  JsonCode code = json_of(function, all_roles_of);
  return make_dnnl_json(code.symbol, code.json, code.const_names);
}

Globals dnnl_globals{
    {"relay.ext.dnnl", generate},
    {"relay.ext.dnnl.constant_updater",
     [](relay::Function function, std::string) { return json_of(function, all_roles_of).constants; }},
};

}  // namespace
}  // namespace tessera::byoc
