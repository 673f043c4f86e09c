#pragma once
// The importer at work: names and their values, graph by graph.

#include <unordered_set>

#include "frontend/common/scope.h"
#include "frontend/onnx/importer.h"

namespace tessera::onnx {

using Scope = frontend::Scope<Value>;

/// "" for ONNX's own operators.
std::string domain_of(std::string_view domain);
/// The converter that holds for a version; null where there is none.
Converter find_converter(const std::string& op, const std::string& domain, int64_t version);
/// The function of the model that a node calls, or null.
const Function* find_function(const Model& model, const Node& node);
/// Versions of operator sets by domain.
using Versions = std::unordered_map<std::string, int64_t>;
Versions versions_of(const Model& model);
/// Every node, also in graphs inside nodes and in functions that are called, that no converter takes.
std::vector<UnsupportedNode> without_converter(const Model& model, Versions versions);

class Importer {
 public:
  /// With `unsupported`, nodes that fail are written there, and the rest is imported; the module is empty then. With
  /// `names_extents`, extents that a run decides have names while importing, so that equal ones are seen to be equal; the
  /// module that comes out has Any for them.
  Importer(const Model& model, const ImportOptions& options, std::vector<UnsupportedNode>* unsupported = nullptr,
           bool names_extents = true);
  Imported run();

  Values import_graph(const Graph& graph, const Values& inputs, const Scope& outer);
  /// An input and its axis of this extent, where it is that of one.
  std::optional<std::pair<Expr, int>> input_of(const PrimExpr& extent) const;
  /// The node of another importer that applies an operator; see apply.h.
  const NodeContext* outer = nullptr;
  /// The tensors that the node being imported, and graphs inside it, can see by name.
  std::unordered_set<const Object*> visible_tensors() const;

 private:
  friend class Operation;
  int64_t version_of(const std::string& domain) const;
  Type input_type(const ValueInfo& input) const;
  /// Notes the named dimensions that the shapes of the options give numbers; two numbers for one name are an error.
  void find_fixed_dims();
  /// The names of dimensions of an input that a run decides, "" for the others; empty where there is none.
  Array<String> dim_names(const ValueInfo& input, const Type& type) const;
  /// The type with a variable for each unknown extent, one for all of a name.
  Type named_type(const Type& type, const Array<String>& names);
  /// Without the types that hold those variables, in all that `root` is made of: annotations have Any.
  /// `graph`: what the nodes are of; null for those of a function.
  void import_nodes(const std::vector<Node>& nodes, const Graph* graph, Scope& scope);
  Values import_node(const Node& node, Scope& scope);
  Values call_function(const Function& function, const Node& call, const Values& inputs);
  void define_outputs(const Node& node, Values outputs, Scope& scope);

  // Collecting unsupported nodes; see unsupported.cc.
  void reject(const Node& node, const Error& error, const Scope& scope);
  void reject_value(const char* what, std::string_view name, const Error& error, Scope& scope);
  /// What stands for the outputs of a rejected node.
  void define_stand_ins(const Node& node, const Graph* graph, Scope& scope);
  bool follows_unsupported(const Node& node, const Scope& scope) const;
  /// What the file says of a value of a graph, or null.
  const ValueInfo* find_info(const Graph& graph, std::string_view name);

  const Model& model_;
  const ImportOptions& options_;
  UnsupportedNodes unsupported_;
  bool names_extents_;
  std::unordered_map<std::string, PrimExpr> extents_;  // by name
  int num_unnamed_ = 0;
  std::unordered_map<const Object*, std::pair<Expr, int>> inputs_of_;  // by variable
  Versions versions_;
  std::unordered_map<std::string_view, int64_t> fixed_dims_;
  const Scope* scope_ = nullptr;  // of the node that is being converted
  int depth_ = 0;
  int64_t num_nodes_ = 0;
  int inner_graphs_ = 0;  // how many graphs inside nodes are being imported
  std::vector<Layer> layers_;
  std::map<const Graph*, std::unordered_map<std::string_view, const ValueInfo*>> infos_;
};

}  // namespace tessera::onnx
