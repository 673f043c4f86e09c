#pragma once
// One node of a TensorFlow graph, or an operator of a TFLite model, as its converter sees it: inputs as typed expressions and
// attributes by name. Both importers write their nodes in these words, so that one table of converters serves both.

#include <map>
#include <memory>
#include <unordered_set>

#include "frontend/common/node_context.h"

namespace tessera::tensorflow {

using namespace frontend;  // NOLINT: what importers share is their language

/// A tensor list of TensorFlow 2, or a tensor array of TensorFlow 1: elements of one shape, stacked. Before the first element
/// is there only their number may be known.
struct List {
  Expr stacked;             // (length, ...); null while no element is known
  Expr length;              // int64, where `stacked` is null
  Array<PrimExpr> element;  // extents where they are known before the first element; null: nothing is known
  DataType dtype = DataType::Void();
};

/// What a name of a graph stands for.
struct Value {
  Expr tensor;
  std::shared_ptr<const List> list;
  std::shared_ptr<const std::vector<std::string>> texts;  // strings exist only while importing
  std::string resource;                                   // the name of a variable
  bool is_rejected = false;  // while unsupported nodes are collected: it only stands for what a rejected node makes

  Value() = default;
  Value(Expr expr) : tensor(std::move(expr)) {}
  static Value of(List list);
  static Value of(std::vector<std::string> texts);
  static Value variable(std::string name);
  bool is_absent() const { return !tensor.defined() && !list && !texts && resource.empty(); }
};
using Values = std::vector<Value>;

/// An attribute; which members count depends on the operator.
struct Attribute {
  std::optional<int64_t> i;
  std::optional<double> f;
  std::optional<std::string> s;               // also the name of a function
  std::optional<DataType> type;               // Void: a type that no tensor has here (strings, resources)
  std::optional<std::vector<int64_t>> shape;  // -1 is unknown
  std::shared_ptr<const std::vector<Attribute>> list;
  std::optional<Value> tensor;

  static Attribute of(int64_t value);
  static Attribute of_real(double value);
  static Attribute of_text(std::string value);
  static Attribute of_type(DataType value);
  static Attribute of_ints(const std::vector<int64_t>& values);
};
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// What converters ask of the importer that they serve.
class Importing {
 public:
  virtual ~Importing() = default;
  /// The results of a function (or subgraph) of the model, imported where it is called.
  virtual Values call(const std::string& function, const Values& inputs) = 0;
  /// Expressions that the node being imported can see, which loops compute once.
  virtual std::unordered_set<const Object*> visible_tensors() const = 0;
  /// The value of a variable at this point of the graph.
  virtual Value read_variable(const NodeContext& in, const std::string& name) = 0;
  virtual void assign_variable(const NodeContext& in, const std::string& name, Value value) = 0;
  /// The layout that convolutions and pools of images are computed in ("NCHW"), empty for that of the file.
  virtual const std::string& target_layout() const = 0;
};

class Operation : public NodeContext {
 public:
  Operation(Importing& importer, std::string op, std::string node, Values inputs, Attributes attributes, size_t outputs)
      : importer_(importer),
        op_(std::move(op)),
        node_(std::move(node)),
        inputs_(std::move(inputs)),
        attributes_(std::move(attributes)),
        outputs_(outputs) {}

  const std::string& name() const { return op_; }
  const std::string& node() const { return node_; }
  std::string title() const override { return op_ + " (" + node_ + ")"; }
  /// The same node as another operator, of other inputs.
  Operation as(std::string op, Values inputs) const;
  Operation& with(std::string name, Attribute value);
  size_t num_outputs() const { return outputs_; }  // 0: the node does not say
  Importing& importer() const { return importer_; }

  // ---- inputs -----------------------------------------------------------------------------------------------------
  size_t size() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].is_absent(); }
  const Value& value(size_t i) const;  // an error when it is left out
  Expr operator[](size_t i) const;     // the same for a tensor
  Array<Expr> tensors(size_t begin = 0, size_t end = SIZE_MAX) const;
  Expr scalar(size_t i) const;  // without dimensions
  const Values& inputs() const { return inputs_; }
  /// Integers of an input that must be known while importing.
  Ints ints(size_t i, const char* what) const { return needed_ints((*this)[i], what); }
  double real(size_t i, const char* what) const;

  // ---- attributes -------------------------------------------------------------------------------------------------
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  const Attribute* find(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  DataType type(std::string_view name, DataType otherwise) const;
  Ints integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view name) const;
  std::string function(std::string_view name) const;  // an error when it is missing

 private:
  Importing& importer_;
  std::string op_, node_;
  Values inputs_;
  Attributes attributes_;
  size_t outputs_;
};

using Converter = std::function<Values(Operation&)>;

/// An operator of TensorFlow. `outputs`: its results by name, where there are several, as functions refer to them.
struct Row {
  const char* op;
  Converter convert;
  std::vector<const char*> outputs;
};
using Rows = std::vector<Row>;

/// Every family of operators adds its rows.
Rows array_rows();
Rows control_rows();
Rows create_rows();
Rows elementwise_rows();
Rows image_rows();
Rows index_rows();
Rows list_rows();
Rows matmul_rows();
Rows nms_rows();
Rows nn_rows();
Rows recurrent_rows();
Rows reduction_rows();
Rows segment_rows();
Rows sparse_rows();
Rows variable_rows();

/// The row of an operator; null where no converter takes it.
const Row* find_row(std::string_view op);
/// The results of an operator of the table, given as one of another language.
Values convert_as(const char* op, Operation& in);

}  // namespace tessera::tensorflow
