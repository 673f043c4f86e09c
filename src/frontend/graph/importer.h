#pragma once
// From a list of layers to a Relay module, by a table of converters.

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "frontend/common/imported.h"
#include "frontend/common/node_context.h"
#include "frontend/common/scope.h"
#include "frontend/graph/graph_model.h"
#include "ir/module.h"

namespace tessera::frontend {

using Exprs = std::vector<Expr>;
class GraphImporter;

/// One node as its converter sees it.
class LayerNode : public NodeContext {
 public:
  LayerNode(GraphImporter& importer, const GraphNode& node, Exprs inputs)
      : importer_(importer), node_(node), inputs_(std::move(inputs)) {}

  std::string title() const override { return node_.op + (node_.name.empty() ? "" : " (" + node_.name + ")"); }
  const GraphNode& node() const { return node_; }
  const Fields& fields() const { return node_.attributes; }
  GraphImporter& importer() const { return importer_; }

  size_t size() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].defined(); }
  Expr operator[](size_t i) const;  // an error when it is left out
  const Exprs& inputs() const { return inputs_; }
  // Arguments by their slots, of frameworks that name them.
  bool has_slot(std::string_view name) const { return !slots(name).empty(); }
  Expr slot(std::string_view name) const;    // the only one of the slot; an error when there is none
  Exprs slots(std::string_view name) const;  // all of them
  /// The outputs in the node's order; those that are not given are not supported where something uses them.
  Exprs results(const std::vector<std::pair<std::string, Exprs>>& by_slot) const;

  bool has_weight(size_t i) const { return i < node_.weights.size(); }
  Expr weight(size_t i) const;  // an error when it is not there
  size_t num_outputs() const { return node_.outputs.size(); }

  int64_t integer(std::string_view name, int64_t otherwise) const { return fields().integer(name, otherwise); }
  int64_t integer(std::string_view name) const { return fields().integer(name); }
  double number(std::string_view name, double otherwise) const { return fields().number(name, otherwise); }
  bool flag(std::string_view name, bool otherwise = false) const { return fields().flag(name, otherwise); }
  std::string text(std::string_view name, std::string otherwise = "") const {
    return fields().text(name, std::move(otherwise));
  }
  /// So many numbers; one number stands for all of them.
  Ints integers(std::string_view name, size_t count, int64_t otherwise) const;

 private:
  GraphImporter& importer_;
  const GraphNode& node_;
  Exprs inputs_;
};

using LayerConverter = std::function<Exprs(LayerNode&)>;
struct LayerRow {
  std::string op;
  LayerConverter convert;
};
using LayerRows = std::vector<LayerRow>;
using LayerTable = std::unordered_map<std::string, LayerConverter>;
LayerTable table_of(std::initializer_list<LayerRows (*)()> families);

struct GraphOptions {
  std::unordered_map<std::string, std::vector<int64_t>> shapes;  // of inputs; -1 is dynamic
  std::unordered_map<std::string, DataType> dtypes;
  bool freeze_params = true;       // parameters are constants; else parameters of the function
  int64_t most_nodes = 1'000'000;  // with loops written out; more is an error
};

class GraphImporter {
 public:
  GraphImporter(const GraphModel& model, const LayerTable& table, const GraphOptions& options,
                std::vector<UnsupportedNode>* unsupported = nullptr)
      : model_(model), table_(table), options_(options), unsupported_(unsupported) {}
  virtual ~GraphImporter() = default;

  Imported run();
  /// The parameter of that name as an expression.
  Expr param(const std::string& name);
  /// The values that a graph inside a node gives; parameters are the model's.
  Exprs import_graph(const GraphModel& graph, const Exprs& inputs);
  /// The expressions that the node being converted can see by name.
  std::unordered_set<const Object*> visible() const;

 protected:
  /// What an importer does to values as they enter and leave, and to each node.
  virtual Expr entering(const GraphInput& /*input*/, Expr value) { return value; }
  virtual Expr leaving(Expr value) { return value; }
  virtual Exprs convert(const GraphNode& node, const LayerConverter& converter, Exprs inputs);

 private:
  using Values = Scope<Expr>;
  void check_names() const;  // of shapes that are given
  void import_nodes(const GraphModel& graph, Values& values);
  const Expr& value_of(const std::string& name, Values& values);

  const GraphModel& model_;
  const LayerTable& table_;
  const GraphOptions& options_;
  UnsupportedNodes unsupported_;
  std::unordered_map<std::string, Expr> params_;
  Array<relay::Var> param_vars_;
  Map<String, NDArray> param_values_;
  const Values* scope_ = nullptr;
  int depth_ = 0;
  int64_t num_nodes_ = 0;
};

/// Every node of the graph and of those inside it that no row converts.
std::vector<UnsupportedNode> without_converter(const GraphModel& model, const LayerTable& table);
/// Lists them in `unsupported`, or in an error where that is null.
void reject_missing(const GraphModel& model, const LayerTable& table,
                    std::vector<UnsupportedNode>* unsupported = nullptr);
/// The import. What cannot be imported is listed in `unsupported`, and the module is empty then; where that is null, all
/// operators that no row converts are listed in one error.
Imported import_graph_model(const GraphModel& model, const LayerTable& table, const GraphOptions& options,
                            std::vector<UnsupportedNode>* unsupported = nullptr);

}  // namespace tessera::frontend
