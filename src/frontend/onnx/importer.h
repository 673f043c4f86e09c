#pragma once
// From an ONNX model to a Relay module.
//
// A converter turns one node into Relay expressions. It sees the node through an `Operation`: its inputs as typed
// expressions, its attributes, the version of its operator set. Types are Relay's own, inferred as the graph grows; what
// the file says of inner values is not used. Converters are rows of one table, by operator and the version since which
// they hold; each family of operators has a file that lists its rows.

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "frontend/common/imported.h"
#include "frontend/common/node_context.h"
#include "frontend/onnx/tensor.h"
#include "ir/module.h"
#include "relay/expr.h"

namespace tessera::onnx {

using namespace frontend;  // NOLINT: what importers share is their language

/// A tensor of strings. Strings exist only while importing: what depends on them is computed then.
struct Texts {
  std::vector<int64_t> shape;
  std::vector<std::string> items;
};

/// What a name of a graph stands for: a tensor, a sequence whose length is known while importing, or strings.
struct Value {
  Expr tensor;
  std::shared_ptr<const std::vector<Value>> sequence;
  std::shared_ptr<const Texts> texts;
  ElementType element = ElementType::Undefined;  // where the type in memory does not say it; see minifloat.h
  // While unsupported nodes are collected: nothing is known of the value, or it only stands for what a rejected node
  // makes.
  bool is_rejected = false, follows_unsupported = false;

  Value() = default;
  Value(Expr expr) : tensor(std::move(expr)) {}
  static Value of(std::vector<Value> items);
  static Value of(Texts texts);
  /// An optional without content, or an input that is left out.
  bool is_absent() const { return !tensor.defined() && !sequence && !texts; }
};
using Values = std::vector<Value>;

class Importer;

/// One node as its converter sees it.
class Operation : public NodeContext {
 public:
  Operation(Importer& importer, const Node& node, int64_t version, Values inputs)
      : importer_(importer), node_(node), version_(version), inputs_(std::move(inputs)) {}

  const Node& node() const { return node_; }
  std::string name() const { return std::string(node_.op); }
  std::string title() const override;
  int64_t version() const { return version_; }  // of the operator set that the node's graph uses
  size_t num_outputs() const { return node_.outputs.size(); }
  /// True when the node gives output i a name.
  bool wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  // ---- inputs -----------------------------------------------------------------------------------------------------
  size_t size() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].is_absent(); }
  const Value& value(size_t i) const;  // an error when it is left out
  Value value_or_absent(size_t i) const { return i < inputs_.size() ? inputs_[i] : Value(); }
  Expr operator[](size_t i) const;  // the same for a tensor
  Expr get_or(size_t i, Expr otherwise) const { return has(i) ? (*this)[i] : std::move(otherwise); }
  /// The same for strings.
  const Texts& texts(size_t i) const;
  bool is_texts(size_t i) const { return has(i) && inputs_[i].texts; }
  /// All inputs, which must be tensors.
  Array<Expr> tensors() const;

  // ---- attributes -------------------------------------------------------------------------------------------------
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  int64_t integer(std::string_view name) const;  // an error when it is missing
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  Ints integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::optional<NDArray> tensor(std::string_view name) const;
  /// A tensor of any type, with what its bytes mean.
  std::optional<Value> tensor_value(std::string_view name) const;
  const Graph& graph(std::string_view name) const;  // an error when it is missing
  const Attribute* find(std::string_view name) const;

  /// The numbers of an attribute, or since `version` of input `index`; nothing where they are given nowhere. An input
  /// that is no constant is an error.
  std::optional<std::vector<int64_t>> integers_or_input(std::string_view name, size_t index) const;

  /// Values of a graph inside this node, whose names see the outer ones. `inputs`: those of the graph's own inputs.
  Values import(const Graph& graph, const Values& inputs) const;
  Importer& importer() const { return importer_; }

 private:
  Importer& importer_;
  const Node& node_;
  int64_t version_;
  Values inputs_;
};

using Converter = std::function<Values(Operation&)>;

// Sets of operators beside ONNX's own.
inline constexpr const char *kMlDomain = "ai.onnx.ml", *kMicrosoftDomain = "com.microsoft",
                            *kTrainingDomain = "ai.onnx.preview.training";

/// A converter of an operator from a version of its set on.
struct Row {
  const char* op;
  int since;
  Converter convert;
  const char* domain = "";
};
using Rows = std::vector<Row>;

/// Every family of operators adds its rows.
Rows attention_rows();
Rows cast_rows();
Rows classifier_rows();
Rows control_rows();
Rows create_rows();
Rows einsum_rows();
Rows elementwise_rows();
Rows fused_rows();
Rows fused_quantized_rows();
Rows image_rows();
Rows index_rows();
Rows ml_rows();
Rows nn_rows();
Rows normalization_rows();
Rows pad_rows();
Rows pool_rows();
Rows quantized_rows();
Rows random_rows();
Rows recurrent_rows();
Rows reduction_rows();
Rows resize_rows();
Rows sequence_rows();
Rows shape_rows();
Rows signal_rows();
Rows slice_rows();
Rows text_rows();
Rows training_rows();

struct ImportOptions {
  std::unordered_map<std::string, std::vector<int64_t>> shapes;  // of inputs; -1 is unknown
  std::unordered_map<std::string, DataType> dtypes;
  std::optional<int64_t> opset;                   // instead of the one the file says
  bool takes_texts = false;                       // outputs may be strings: Imported::texts; else they are rejected
  bool freeze_params = true;                      // initialisers become constants; else parameters of the function
  std::unordered_map<std::string, Value> frozen;  // inputs whose values are known: they are constants too
  int64_t most_nodes = 1'000'000;                 // with functions and loops written out; more is an error
  bool keep_layers = false;                       // fills Imported::layers
};

/// A tensor that a node of the main graph (or of a function that it calls) makes.
struct Layer {
  std::string op, domain, node, output;  // the operator, and the names of node and tensor in the file
  Expr value;
  bool in_function = false;  // made inside a function; names repeat there with every call
};

struct Imported : frontend::Imported {
  std::vector<Layer> layers;                         // in the order of the file, which is that of the computation
  std::vector<std::pair<std::string, Value>> texts;  // outputs that are strings: they are no results of the program
};

/// All operators that no converter takes are listed in one error.
Imported import_model(const Model& model, const ImportOptions& options);

/// How a node is called in messages and profiles: by its name or, where it has none, as "Relu -> y".
std::string node_label(const Node& node);

using Survey = frontend::Surveyed<Imported>;
/// Imports as far as it goes: a node that is rejected does not stop the rest. Nodes that need the value of a rejected
/// one, where the file does not tell its type, are looked up in the table of converters and no more.
Survey survey_model(const Model& model, const ImportOptions& options);

/// (operator, domain) that some node of the model uses and no converter takes, sorted.
std::vector<std::pair<std::string, std::string>> unsupported_operators(const Model& model);

}  // namespace tessera::onnx
