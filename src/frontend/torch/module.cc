// The importer as functions that Python calls.

#include "frontend/torch/graph.h"
#include "frontend/torch/importer.h"
#include "frontend/torch/pt2.h"
#include "runtime/archive/files.h"
#include "runtime/registry.h"

namespace tessera::torch {
namespace {

/// What is not a parameter of the program is a constant of it.
Array<ObjectRef> import_graph_json(const std::string& graph, const Map<String, NDArray>& weights,
                                   const Map<String, PackedFunc>& custom, const std::string& default_dtype) {
  Program program = read_graph(graph);
  for (const auto& [name, value] : weights) program.weights.emplace(name.str(), value);
  ImportOptions options;
  options.default_dtype = DataType(default_dtype);
  for (const auto& [name, convert] : custom) options.custom.emplace(name.str(), convert);
  Imported imported = import_program(program, options);
  return {imported.mod, imported.params};
}

/// [label, operator, reason] of each node that cannot be imported.
Array<ObjectRef> unsupported_in_graph(const std::string& graph, const Map<String, NDArray>& weights) {
  Program program = read_graph(graph);
  for (const auto& [name, value] : weights) program.weights.emplace(name.str(), value);
  Array<ObjectRef> out;
  for (const UnsupportedNode& node : survey_program(program, {}).unsupported)
    out.push_back(Array<String>{String(node.node), String(node.op), String(node.reason)});
  return out;
}

static Globals torch_module_globals{
    {"frontend.torch.import_graph", import_graph_json},
    {"frontend.torch.unsupported_nodes", unsupported_in_graph},
    {"frontend.torch.is_exported", [](std::string path) { return is_pt2(MappedFile(path, "the model").bytes()); }},
    {"frontend.torch.has_converter", [](std::string op) { return static_cast<bool>(find_converter(op)); }},
};

}  // namespace
}  // namespace tessera::torch
