// Everything in a model that is not supported, found in one go.

#include <algorithm>
#include <set>

#include "base/stack.h"
#include "frontend/onnx/scope.h"
#include "ir/prim/ops.h"

namespace tessera::onnx {
namespace {

std::string name_of(const Node& node) {
  if (!node.name.empty() || node.outputs.empty()) return std::string(node.name);
  return std::string(node.outputs[0]);
}

int64_t version_in(const Versions& versions, const std::string& domain) {
  auto it = versions.find(domain);
  return it == versions.end() ? 1 : it->second;
}

/// The walk over nodes, graphs inside them and functions that they call.
class Search {
 public:
  Search(const Model& model, std::vector<UnsupportedNode>* out) : model_(model), out_(out) {}

  void look_at(const std::vector<Node>& nodes, const Versions& versions) {
    for (const Node& node : nodes) {
      for (const Attribute& attribute : node.attributes)
        for (const std::shared_ptr<Graph>& graph : attribute.graphs)
          on_enough_stack([&] { look_at(graph->nodes, versions); });
      std::string domain = domain_of(node.domain), op(node.op);
      int64_t version = version_in(versions, domain);
      if (find_converter(op, domain, version)) continue;
      const Function* function = find_function(model_, node);
      if (!function) out_->push_back({op, domain, name_of(node), version, reason(op, domain)});
      else if (seen_.insert(function).second)
        on_enough_stack([&] {
          Versions inner = versions;
          for (const OperatorSet& set : function->operator_sets) inner[domain_of(set.domain)] = set.version;
          look_at(function->nodes, inner);
        });
    }
  }

 private:
  static std::string reason(const std::string& op, const std::string& domain) {
    return find_converter(op, domain, INT64_MAX) ? "only newer versions of the operator are supported"
                                                 : "the operator is not supported";
  }

  const Model& model_;
  std::vector<UnsupportedNode>* out_;
  std::set<const Function*> seen_;
};

}  // namespace

std::vector<UnsupportedNode> without_converter(const Model& model, Versions versions) {
  std::vector<UnsupportedNode> out;
  Search(model, &out).look_at(model.graph.nodes, versions);
  return out;
}

std::vector<std::pair<std::string, std::string>> unsupported_operators(const Model& model) {
  std::set<std::pair<std::string, std::string>> out;
  for (const UnsupportedNode& node : without_converter(model, versions_of(model))) out.emplace(node.op, node.domain);
  return {out.begin(), out.end()};
}

Survey survey_model(const Model& model, const ImportOptions& options) {
  Versions versions = versions_of(model);
  if (options.opset) versions[""] = *options.opset;
  Survey out;
  out.unsupported = without_converter(model, versions);
  out.imported = Importer(model, options, &out.unsupported).run();
  return out;
}

// ---- the importer's side --------------------------------------------------------------------------------------------

void Importer::reject(const Node& node, const Error& error, const Scope& scope) {
  if (error.kind() == kFollowsUnsupported) return;
  UnsupportedNode found;
  found.op = node.op;
  found.domain = domain_of(node.domain);
  found.node = name_of(node);
  found.version = version_in(versions_, found.domain);
  found.follows_another = follows_unsupported(node, scope);
  unsupported_.add(std::move(found), error);
}

void Importer::reject_value(const char* what, std::string_view name, const Error& error, Scope& scope) {
  UnsupportedNode found;
  found.op = what;
  found.node = name;
  unsupported_.add(std::move(found), error);
  Value nothing;
  nothing.is_rejected = true;
  scope.define(name, nothing);
}

bool Importer::follows_unsupported(const Node& node, const Scope& scope) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](std::string_view name) {
    const Value* value = name.empty() ? nullptr : scope.find_or_null(name);
    return value && (value->is_rejected || value->follows_unsupported);
  });
}

const ValueInfo* Importer::find_info(const Graph& graph, std::string_view name) {
  auto [it, is_new] = infos_.try_emplace(&graph);
  if (is_new)
    for (const std::vector<ValueInfo>* list : {&graph.values, &graph.outputs})
      for (const ValueInfo& info : *list) it->second.emplace(info.name, &info);
  auto found = it->second.find(name);
  return found == it->second.end() ? nullptr : found->second;
}

void Importer::define_stand_ins(const Node& node, const Graph* graph, Scope& scope) {
  for (std::string_view name : node.outputs) {
    if (name.empty()) continue;
    Value value;
    value.is_rejected = value.follows_unsupported = true;
    const ValueInfo* info = graph ? find_info(*graph, name) : nullptr;
    if (info && info->type.has_shape) try {
        value.tensor = relay::make_local(std::string(name), input_type(*info));
        ElementType element = info->type.element;
        if (small_bits(element) || is_minifloat(element)) value.element = element;
        value.is_rejected = false;
      } catch (const Error&) {  // a type that no tensor has here: the value stays unknown
      }
    scope.define(name, value);
  }
}

}  // namespace tessera::onnx
