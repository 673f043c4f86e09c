#pragma once
// The importer at work: names and their values, graph by graph.

#include <unordered_set>

#include "frontend/common/scope.h"
#include "frontend/torch/importer.h"

namespace tessera::torch {

using Scope = frontend::Scope<Value>;

/// Every node, also in graphs inside nodes, that no converter takes.
std::vector<UnsupportedNode> without_converter(const Program& program, const ImportOptions& options);

/// A node as errors call it, after its converter is done.
struct TitledNode : NodeContext {
  explicit TitledNode(std::string text) : text(std::move(text)) {}
  std::string title() const override { return text; }
  std::string text;
};

/// The part of a tensor that in-place operators may change, and how.
struct ViewOf {
  std::function<Expr(const Expr& base)> read;
  std::function<Expr(const Expr& base, const Expr& value)> write = nullptr;  // null: it is only read
  std::optional<Ints> strides = std::nullopt;
};

/// Tensors as they are now, the cells that hold them, and lists and dictionaries.
struct Visible {
  std::unordered_set<const Object*> tensors;
  std::unordered_set<const Cell*> cells;
  std::unordered_set<const Values*> lists;
};

class Importer {
 public:
  Importer(const Program& program, const ImportOptions& options, std::vector<UnsupportedNode>* unsupported = nullptr,
           bool names_extents = true);
  Imported run();

  const ImportOptions& options() const { return options_; }
  Values import_graph(const Graph& graph, const Values& inputs, const Scope& outer);
  /// What the node being imported, and graphs inside it, can see by name.
  Visible visible() const;
  /// A view of a tensor; of a program that changes nothing in place, a tensor like any other.
  Value view_of(const Value& base, const ViewOf& view) const;
  bool changes_in_place() const { return changes_in_place_; }
  /// An input and its axis of this extent, where it is that of one.
  std::optional<std::pair<Expr, int>> input_of(const PrimExpr& extent) const;
  /// Changes a tensor, and those it is a part of; the journal notes what they were.
  void change(const std::shared_ptr<Cell>& cell, const Expr& now) const;
  /// The items of a list or dictionary, to be changed; the journal notes what they were.
  Values& change(const Value& list) const;
  Journal* journal = nullptr;  // null: nobody writes one

 private:
  friend class Operation;
  void import_nodes(const Graph& graph, Scope& scope);
  Values import_node(const Node& node, Scope& scope);
  Values by_custom(const PackedFunc& convert, const Operation& operation) const;
  Value value_of(const Argument& argument, const Scope& scope);
  Value weight(const std::string& name);
  void define_results(const Node& node, Values values, Scope& scope);
  void define_result(const Result& result, Value value, const Node& node, Scope& scope);
  void change_in_place(const Operation::Args& args, Values& values) const;
  void reject(const Node& node, const Error& error, Scope& scope);
  relay::Var input_var(const Input& input, Map<String, Array<String>>* dims);

  const Program& program_;
  const ImportOptions& options_;
  UnsupportedNodes unsupported_;
  bool names_extents_;
  bool changes_in_place_ = false;
  std::unordered_map<std::string, PrimExpr> extents_;
  std::unordered_map<const Object*, std::pair<Expr, int>> inputs_of_;  // by variable
  std::unordered_map<std::string, Value> weights_;
  std::unordered_set<std::string> params_;
  Array<relay::Var> param_vars_;
  Map<String, NDArray> param_values_;
  const Scope* scope_ = nullptr;  // of the node that is being converted
  int depth_ = 0;
  int64_t num_nodes_ = 0;
};

/// True for an operator that changes its first argument: "aten::add_".
bool is_in_place(const std::string& op);

}  // namespace tessera::torch
