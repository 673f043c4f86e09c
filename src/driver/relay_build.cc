#include "driver/relay_build.h"

#include <unordered_set>

#include "base/progress.h"
#include "driver/executor/kernel_library.h"
#include "ir/rewrite.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

Function main_of(const IRModule& mod) {
  Function main = downcast_or_null<Function>(mod.lookup("main"));
  if (!main) throw Error(TypeError) << "relay.build: \"main\" is not a Relay function";
  return main;
}

/// True when a function that is a value is called.
bool calls_closures(const Function& main) {
  bool found = false;
  post_order(main->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    auto* function = call ? call->op.as<FunctionNode>() : nullptr;
    found |= call && (call->op.as<VarNode>() || (function && !function->attrs.is_true(attr::kPrimitive)));
  });
  return found;
}

/// Functions that "main" calls by name become part of it: a graph has no calls. Kernels stay functions of the module, which no
/// pass looks into, until operators are fused.
IRModule inline_functions(const IRModule& mod) {
  IRModule marked = mod.copy();
  for (const auto& [var, function] : mod->functions) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || var->name_hint == "main") continue;
    FunctionNode part(*relay);
    part.attrs = is_kernel(relay) ? relay->attrs.without(attr::kInline)
                                  : relay->attrs.with(attr::kInline, int_imm(DataType::Int(32), 1));
    marked.update(var, make(std::move(part)));
  }
  return inline_globals(marked);
}

}  // namespace

Function bind_params_by_name(const Function& function, const Map<String, NDArray>& params) {
  std::unordered_map<std::string, Var> by_name;
  std::unordered_set<std::string> repeated;
  for (const Var& param : function->params) {
    std::string name(param->name_hint());
    if (!by_name.emplace(name, param).second) repeated.insert(name);
  }
  std::unordered_map<const Object*, Expr> values;
  for (const auto& [name, tensor] : params) {
    auto it = by_name.find(std::string(name));
    if (it == by_name.end()) continue;
    if (repeated.count(it->first))
      throw Error(ValueError) << "two parameters of the function are named " << name
                              << "; they cannot be bound by name";
    Constant constant;
    constant.data = tensor;
    values.emplace(it->second.get(), make(std::move(constant)));
  }
  if (values.empty()) return function;
  Array<Var> left;
  for (const Var& param : function->params)
    if (!values.count(param.get())) left.push_back(param);
  Expr body = tessera::rewrite(function->body, [&](const VarNode* var) -> Expr {
    auto it = values.find(var);
    return it == values.end() ? Expr(var) : it->second;
  });
  FunctionNode out(*function.get());
  out.params = left;
  out.body = body;
  out.checked_type_ = nullptr;
  return make(std::move(out));
}

IRModule optimize(const IRModule& mod, const CompilationConfig& config) {
  return sequential({pass(remove_unused_functions, Array<String>{"main"}), optimization_passes(config)})(mod);
}

BuiltGraph compile_fused(const IRModule& fused, const CompilationConfig& config, const std::string& model_name) {
  BuiltGraph out;
  out.optimized = fused;
  begin_stage("schedule kernels");
  Function main = main_of(out.optimized);
  GraphProgram graph = compile_graph(main, config, PassContext::current(), model_name);
  out.graph_json = graph.json;
  out.params = graph.params;
  out.library = build_kernels(graph.kernels, config->host_target);
  graph.params = nullptr;  // the tensors are not needed for what follows
  out.functions = [graph, main] {
    return function_infos(graph, main, lower_kernels(graph.kernels.all_programs(), graph.kernels.environment));
  };
  return out;
}

BuiltGraph build_graph(const IRModule& mod, const Target& target, const Map<String, NDArray>& params,
                       const std::string& model_name) {
  return build_graph(mod, make_compilation_config({target}, {}), params, model_name);
}

BuiltGraph build_graph(const IRModule& given, const CompilationConfig& config, const Map<String, NDArray>& params,
                       const std::string& model_name) {
  begin_stage("optimise graph");
  IRModule mod = given.copy();
  mod.update(mod.get_global_var("main"), bind_params_by_name(main_of(mod), params));
  if (mod->functions.size() > 1) mod = inline_functions(mod);
  if (calls_closures(main_of(mod))) mod = sequential({pass(to_graph_normal_form), pass(inline_closures)})(mod);
  return compile_fused(optimize(mod, config), config, model_name);
}

static Globals relay_build_globals{
    {"relay.build_module.BindParamsByName", bind_params_by_name},
    {"relay.build_module.build_graph",
     [](IRModule mod, Array<Target> targets, Map<String, NDArray> params, std::string model_name) {
       BuiltGraph built = build_graph(mod, make_compilation_config(targets, {}), params, model_name);
       return Map<String, ObjectRef>{{"graph_json", String(built.graph_json)},
                                     {"params", built.params},
                                     {"lib", built.library},
                                     {"mod", built.optimized},
                                     {"functions", typed("functions", built.functions)}};
     }},
    {"relay.build_module.optimize",
     [](IRModule mod, Array<Target> targets) { return optimize(mod, make_compilation_config(targets, {})); }},
};

}  // namespace tessera::relay
