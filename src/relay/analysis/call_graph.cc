// Which functions of a module call which.

#include <map>

#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

struct CallGraphNode : Object {
  IRModule module;
  std::map<std::string, std::vector<std::string>> calls;  // by name, one entry for each use
  static constexpr NodeInfo info{"relay.CallGraph", &Object::info, Role::Identity};
  static void fields(auto f) { f("module", &CallGraphNode::module); }
};
using CallGraph = Ref<CallGraphNode>;
register_types<CallGraphNode> call_graph_types;

CallGraph make_graph(const IRModule& mod) {
  CallGraphNode graph;
  graph.module = mod;
  for (const auto& [var, function] : mod.sorted_functions()) {
    std::vector<std::string>& calls = graph.calls[var->name_hint.str()];
    if (!function.as<FunctionNode>()) continue;
    // every use counts, though a shared part is visited once
    post_order(function, [&](const Expr& expr) {
      each_child(expr, [&](const Expr& part) {
        if (auto* global = part.as<GlobalVarNode>()) calls.push_back(global->name_hint.str());
      });
    });
  }
  return make(std::move(graph));
}

const std::vector<std::string>& calls_of(const CallGraph& graph, const GlobalVar& var) {
  auto found = graph->calls.find(var->name_hint.str());
  if (found == graph->calls.end())
    throw Error(ValueError) << "no function \"" << var->name_hint << "\" in the call graph";
  return found->second;
}

int uses_of(const CallGraph& graph, const GlobalVar& var) {
  calls_of(graph, var);
  int count = 0;
  for (const auto& [_, calls] : graph->calls)
    for (const std::string& called : calls) count += called == var->name_hint.str();
  return count;
}

bool is_recursive(const CallGraph& graph, const GlobalVar& var) {
  for (const std::string& called : calls_of(graph, var))
    if (called == var->name_hint.str()) return true;
  return false;
}

/// Call graph node: main, #refs = 0
///   call: f
std::string entry_text(const CallGraph& graph, const GlobalVar& var) {
  std::string out = "Call graph node: " + var->name_hint.str() + ", #refs = " + std::to_string(uses_of(graph, var));
  for (const std::string& called : calls_of(graph, var)) out += "\n  call: " + called;
  return out + "\n";
}

std::string graph_text(const CallGraph& graph) {
  std::string out = "CallGraph:\n";
  for (const auto& [var, _] : graph->module.sorted_functions()) out += entry_text(graph, var);
  return out;
}

Globals call_graph_globals{
    {"relay.analysis.CallGraph", make_graph},
    {"relay.analysis.PrintCallGraph", graph_text},
    {"relay.analysis.PrintCallGraphGlobalVar", entry_text},
    {"relay.analysis.GetRefCountGlobalVar", uses_of},
    {"relay.analysis.GetGlobalVarCallCount",
     [](CallGraph graph, GlobalVar var) { return static_cast<int>(calls_of(graph, var).size()); }},
    {"relay.analysis.IsRecursive", is_recursive},
};

}  // namespace
}  // namespace tessera::relay
