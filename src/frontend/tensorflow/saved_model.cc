// SavedModels: which graph serves, what its inputs and outputs are called, and which entry of the table of variables each
// variable is restored from. The last is what the model's own restoring says: RestoreV2 gives the entries that it names, and
// assignments hand them to variables.

#include <algorithm>

#include "frontend/tensorflow/bundle.h"
#include "frontend/tensorflow/importer.h"
#include "runtime/archive/files.h"

#include <unistd.h>

namespace tessera::tensorflow {
namespace {

std::string file_of(const std::string& folder) { return folder + "/saved_model.pb"; }

/// Nodes by name.
using Nodes = std::unordered_map<std::string_view, const NodeDef*>;
Nodes nodes_of(const std::vector<NodeDef>& list) {
  Nodes out;
  for (const NodeDef& node : list) out.emplace(node.name, &node);
  return out;
}

/// The tensor that an input is, behind what hands it on.
TensorName source_of(const Nodes& nodes, std::string_view input) {
  for (int i = 0; i < 100; ++i) {
    TensorName name = parse_name(input);
    auto it = nodes.find(name.node);
    if (it == nodes.end() || it->second->op != "Identity" || it->second->inputs.empty()) return name;
    input = it->second->inputs[0];
  }
  return parse_name(input);
}

std::string variable_name(const NodeDef& node) {
  Attributes attributes = parse_attributes(node);
  auto shared = attributes.find("shared_name");
  const bool has_name = shared != attributes.end() && shared->second.s && !shared->second.s->empty();
  return has_name && node.op == "VarHandleOp" ? *shared->second.s : std::string(node.name);
}

/// Entries of the table by variables, as the assignments of one graph or function say.
void find_assignments(const std::vector<NodeDef>& list,
                      const std::function<std::string(const TensorName&)>& variable_of,
                      std::unordered_map<std::string, std::string>* keys) {
  const Nodes nodes = nodes_of(list);
  for (const NodeDef& node : list) {
    if ((node.op != "AssignVariableOp" && node.op != "Assign") || node.inputs.size() < 2) continue;
    const TensorName value = source_of(nodes, node.inputs[1]);
    auto restore = nodes.find(value.node);
    if (restore == nodes.end() || restore->second->op != "RestoreV2" || restore->second->inputs.size() < 2) continue;
    auto names = nodes.find(source_of(nodes, restore->second->inputs[1]).node);
    if (names == nodes.end() || names->second->op != "Const") continue;
    Attributes attributes = parse_attributes(*names->second);
    auto texts = attributes.find("value");
    if (texts == attributes.end() || !texts->second.tensor || !texts->second.tensor->texts) continue;
    const auto index = static_cast<size_t>(value.index);
    if (index >= texts->second.tensor->texts->size()) continue;
    std::string variable = variable_of(source_of(nodes, node.inputs[0]));
    if (!variable.empty()) keys->try_emplace(variable, (*texts->second.tensor->texts)[index]);
  }
}

}  // namespace

struct SavedModel::Files {
  MappedFile file;
  std::vector<MetaGraph> graphs;
  const MetaGraph* graph;
  Bundle variables;
  std::unordered_map<std::string, std::string> keys;  // entries of the table, by variables

  explicit Files(const std::string& folder)
      : file(file_of(folder), "the SavedModel"),
        graphs(parse_saved_model(file.bytes())),
        variables(folder + "/variables/variables") {
    graph = &graphs[0];
    for (const MetaGraph& one : graphs)
      if (std::find(one.tags.begin(), one.tags.end(), "serve") != one.tags.end()) graph = &one;
    const Nodes nodes = nodes_of(graph->graph.nodes);
    auto in_main = [&](const TensorName& name) {
      auto it = nodes.find(name.node);
      return it == nodes.end() ? std::string() : variable_name(*it->second);
    };
    find_assignments(graph->graph.nodes, in_main, &keys);
    for (const NodeDef& call : graph->graph.nodes) {  // functions that restore are given the variables
      if (call.op != "StatefulPartitionedCall" && call.op != "PartitionedCall") continue;
      Attributes attributes = parse_attributes(call);
      auto name = attributes.find("f");
      if (name == attributes.end() || !name->second.s) continue;
      auto function = graph->graph.functions.find(*name->second.s);
      if (function == graph->graph.functions.end()) continue;
      auto of_argument = [&](const TensorName& argument) {
        const auto& inputs = function->second.inputs;
        auto at = std::find(inputs.begin(), inputs.end(), argument.node);
        const auto index = static_cast<size_t>(at - inputs.begin());
        return at == inputs.end() || index >= call.inputs.size() ? std::string()
                                                                 : in_main(source_of(nodes, call.inputs[index]));
      };
      find_assignments(function->second.nodes, of_argument, &keys);
    }
  }
};

SavedModel::SavedModel(const std::string& folder) : files_(std::make_unique<Files>(folder)) {}
SavedModel::~SavedModel() = default;
const GraphDef& SavedModel::graph() const { return files_->graph->graph; }

ImportOptions SavedModel::options(ImportOptions given, const std::string& wanted) const {
  const std::vector<SignatureDef>& all = files_->graph->signatures;
  const SignatureDef* signature = nullptr;
  std::string known;
  for (const SignatureDef& one : all) {
    if (!one.key.starts_with("__")) known += (known.empty() ? "" : ", ") + std::string(one.key);
    if (one.key == (wanted.empty() ? "serving_default" : wanted)) signature = &one;
  }
  if (!signature && wanted.empty())
    for (const SignatureDef& one : all)
      if (!one.key.starts_with("__")) signature = &one;
  if (!signature && given.outputs.empty())
    throw Error(ValueError) << "the SavedModel has no signature" << (wanted.empty() ? "" : " \"" + wanted + "\"")
                            << "; it has " << (known.empty() ? "none" : known);
  if (signature && given.outputs.empty())
    for (const auto& [name, tensor] : signature->outputs) given.outputs.emplace_back(tensor);
  if (signature) {
    for (const auto& [name, tensor] : signature->inputs) {
      const std::string node(parse_name(tensor).node);
      given.inputs.push_back(node);
      if (auto it = given.shapes.find(std::string(name)); it != given.shapes.end() && !given.shapes.count(node)) {
        given.shapes[node] = it->second;
        given.shapes.erase(std::string(name));
      }
    }
  }
  if (!given.variable)
    given.variable = [files = files_.get()](const std::string& name) {
      auto key = files->keys.find(name);
      return files->variables.read(key == files->keys.end() ? name : key->second);
    };
  return given;
}

bool is_saved_model(const std::string& path) { return access(file_of(path).c_str(), F_OK) == 0; }

}  // namespace tessera::tensorflow
