#pragma once
// The importer at work: names and their values, graph by graph.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// Names of one graph; those of the graphs around it are seen too.
class Scope {
 public:
  explicit Scope(const Scope* outer) : outer_(outer) {}
  void define(std::string_view name, Value value);
  const Value& find(std::string_view name) const;

 private:
  const Scope* outer_;
  std::unordered_map<std::string_view, Value> values_;
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options);
  Imported run();

  Values import_graph(const Graph& graph, const Values& inputs, const Scope& outer);

 private:
  friend class Operation;
  int64_t version_of(const std::string& domain) const;
  Type input_type(const ValueInfo& input) const;
  void import_nodes(const std::vector<Node>& nodes, Scope& scope);
  Values import_node(const Node& node, Scope& scope);
  Values call_function(const Function& function, const Node& call, const Values& inputs);

  const Model& model_;
  const ImportOptions& options_;
  std::unordered_map<std::string, int64_t> versions_;
  const Scope* scope_ = nullptr;  // of the node that is being converted
  int depth_ = 0;
};

}  // namespace tessera::onnx
