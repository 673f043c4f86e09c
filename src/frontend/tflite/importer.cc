#include "frontend/tflite/importer.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/stack.h"
#include "frontend/common/converted.h"
#include "frontend/common/parameters.h"
#include "frontend/common/parts.h"
#include "frontend/tflite/quantize.h"
#include "ir/prim/ops.h"
#include "ir/span_scope.h"
#include "op/rules.h"
#include "relay/attrs/index.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/output_names.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::tflite {
namespace {

constexpr int kCustom = 32, kMaxCalls = 100;
constexpr size_t kMaxDimensions = 64;

const Row* find_row(int code) {
  static const std::map<int, Row> table = [] {
    std::map<int, Row> out;
    for (auto family : {arithmetic_rows, contraction_rows, control_rows, plain_rows, recurrent_rows})
      for (Row& row : family()) out.emplace(row.code, std::move(row));
    return out;
  }();
  auto it = table.find(code);
  return it == table.end() ? nullptr : &it->second;
}

const CustomRow* find_custom(std::string_view name) {
  static const std::vector<CustomRow> rows = detection_rows();
  auto it = std::find_if(rows.begin(), rows.end(), [&](const CustomRow& row) { return row.name == name; });
  return it == rows.end() ? nullptr : &*it;
}

bool has_converter(const Operator& node) {
  return node.custom.empty() ? find_row(node.code) != nullptr : find_custom(node.custom) != nullptr;
}

std::string name_of_tensor(const Subgraph& graph, int32_t index) {
  return index < 0 ? std::string() : std::string(graph.tensors[static_cast<size_t>(index)].name);
}

/// By the name of the first tensor that it makes; operators have none of their own.
std::string name_of_node(const Subgraph& graph, const Operator& node) {
  return node.outputs.empty() ? std::string() : name_of_tensor(graph, node.outputs[0]);
}

const Quantization kPlain;

/// All 256 results of an operator on one 8-bit number, and those of the data taken from them.
Values by_table(Node& in, const Converter& convert) {
  const DataType dtype = in.dtype(in[0]);
  const Quantization &from = in.quantized_input(0), &to = in.quantized_output(0);
  std::vector<double> all(256);
  std::iota(all.begin(), all.end(), dtype.is_uint() ? 0 : -128);
  Node whole = in.with_inputs({dequantized(in, numbers_of(all, {256}, dtype), from)});
  Expr table = quantized(in, convert(whole).at(0).tensor, to, in.output_type(0));
  if (std::optional<NDArray> known = in.constant(table)) table = relay::make_constant(*known);
  Expr index = relay::add(relay::cast(in[0], DataType::Int(32)),
                          relay::make_scalar(dtype.is_uint() ? 0 : 128, DataType::Int(32)));
  return {take(table, index, 0)};
}

/// What the operator makes. What has no form in integers is computed in real numbers between them.
Values convert(Node& node, const Operator& given, const Values& inputs, const std::vector<const Tensor*>& out) {
  if (!given.custom.empty()) return find_custom(given.custom)->convert(node);
  const Row& row = *find_row(given.code);
  if (row.quantized == Quantized::ByItself || !node.is_quantized()) return row.convert(node);
  if (row.quantized == Quantized::ByTable && node.size() == 1 && node.dtype(node[0]).bits == 8 &&
      node.quantized_input(0).scale.size() == 1 && node.quantized_output(0).scale.size() == 1)
    return by_table(node, row.convert);
  const bool moves = row.quantized == Quantized::Moves;
  Values whole;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Quantization& q = node.quantized_input(i);
    if (!q.is_given() || !inputs[i].tensor.defined() || is_float(node.dtype(inputs[i].tensor)) ||
        node.dtype(inputs[i].tensor).bits > 16)
      whole.push_back(inputs[i]);
    else if (!moves) whole.push_back(dequantized(node, inputs[i].tensor, q));
    else whole.push_back(requantized(node, inputs[i].tensor, q, node.quantized_output(0), node.output_type(0)));
  }
  Node inner = node.with_inputs(whole);
  Values outputs = row.convert(inner);
  if (!moves)
    for (size_t i = 0; i < outputs.size() && i < out.size(); ++i)
      if (out[i]->quantization.is_given() && outputs[i].tensor.defined())
        outputs[i] = quantized(node, outputs[i].tensor, out[i]->quantization, memory_type(out[i]->kind));
  return outputs;
}

class Importer : public tensorflow::Importing {
 public:
  Importer(const Model& model, const ImportOptions& options, std::vector<UnsupportedNode>* unsupported)
      : model_(model), options_(options), unsupported_(unsupported) {}

  Imported run();

  Values call(const std::string& function, const Values& inputs) override {
    size_t index = 0;
    for (char digit : function) {
      if (digit < '0' || digit > '9' || index > model_.subgraphs.size()) index = model_.subgraphs.size();
      else index = index * 10 + static_cast<size_t>(digit - '0');
    }
    if (index >= model_.subgraphs.size()) throw Error(ValueError) << "the model has no subgraph " << function;
    const Subgraph& graph = model_.subgraphs[index];
    if (inputs.size() != graph.inputs.size())
      throw Error(ValueError) << "subgraph " << index << " takes " << graph.inputs.size() << " inputs, not "
                              << inputs.size();
    struct Level {
      explicit Level(int& depth) : depth(++depth) {
        if (depth > kMaxCalls)
          throw Error(ValueError) << "subgraphs of the model call each other deeper than " << kMaxCalls << " levels";
      }
      ~Level() { --depth; }
      int& depth;
    } level(depth_);
    std::vector<Value> values(graph.tensors.size());
    for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(graph.inputs[i])] = inputs[i];
    import_nodes(graph, values);
    Values out;
    for (int32_t output : graph.outputs) out.push_back(value_of(graph, values, output));
    return out;
  }

  std::unordered_set<const Object*> visible_tensors() const override {
    std::unordered_set<const Object*> out;
    for (const std::vector<Value>* scope : scopes_)
      for (const Value& value : *scope)
        if (value.tensor.defined()) out.insert(value.tensor.get());
    return out;
  }
  Value read_variable(const NodeContext& in, const std::string& name) override {
    auto it = variables_.find(name);
    if (it == variables_.end()) in.unsupported("the variable " + name + " is read before it is set");
    return it->second;
  }
  void assign_variable(const NodeContext&, const std::string& name, Value value) override {
    variables_[name] = std::move(value);
  }
  const std::string& target_layout() const override { return layout_; }

 private:
  const Value& value_of(const Subgraph& graph, std::vector<Value>& values, int32_t index);
  void import_nodes(const Subgraph& graph, std::vector<Value>& values);
  Values import_node(const Subgraph& graph, const Operator& given, std::vector<Value>& values);
  void reject(const Subgraph& graph, const Operator& node, const Error& error, std::vector<Value>& values);

  const Model& model_;
  const ImportOptions& options_;
  UnsupportedNodes unsupported_;
  std::unordered_map<std::string, Value> variables_;
  std::vector<const std::vector<Value>*> scopes_;
  std::vector<std::pair<std::string, Expr>> constants_;  // of the file, by the names of their tensors
  std::unordered_set<const Tensor*> rejected_;
  std::string layout_;
  int depth_ = 0;
};

const Value& Importer::value_of(const Subgraph& graph, std::vector<Value>& values, int32_t index) {
  static const Value nothing;
  if (index < 0) return nothing;
  Value& value = values[static_cast<size_t>(index)];
  const Tensor& tensor = graph.tensors[static_cast<size_t>(index)];
  if (!value.is_absent()) return value;
  if (rejected_.count(&tensor))
    throw Error(kFollowsUnsupported) << "the tensor " << std::string(tensor.name) << " is not known";
  std::vector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (!tensor.data.empty() || (is_empty && !tensor.is_variable)) {
    value = relay::make_constant(to_ndarray(tensor));
    constants_.emplace_back(std::string(tensor.name), value.tensor);
  } else if (tensor.is_variable) {  // what a run leaves there is not seen by the next
    Quantization q = tensor.quantization;
    const DataType dtype = memory_type(tensor.kind);
    value = filled(q.is_given() ? static_cast<double>(q.zero[0]) : 0, shape, dtype);
  } else {
    throw Error(ValueError) << "the graph uses the tensor \"" << std::string(tensor.name)
                            << "\" before anything makes it";
  }
  return value;
}

void Importer::import_nodes(const Subgraph& graph, std::vector<Value>& values) {
  scopes_.push_back(&values);
  for (const Operator& node : graph.operators) {
    try {
      Values outputs = on_enough_stack([&] { return import_node(graph, node, values); });
      if (outputs.size() < node.outputs.size())
        throw Error(OpNotImplemented) << operator_name(node) << ": output " << outputs.size() << " is not supported";
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (outputs[i].tensor.defined()) relay::typed(outputs[i].tensor);  // what does not fit is this node's fault
        values[static_cast<size_t>(node.outputs[i])] = std::move(outputs[i]);
      }
    } catch (Error& error) {
      if (!unsupported_) {
        scopes_.pop_back();
        error << "\n  in node " << operator_name(node) << ", which makes " << name_of_node(graph, node);
        throw;
      }
      reject(graph, node, error, values);
    }
  }
  scopes_.pop_back();
}

void Importer::reject(const Subgraph& graph, const Operator& node, const Error& error, std::vector<Value>& values) {
  if (error.kind() != kFollowsUnsupported) {
    UnsupportedNode found;
    found.op = operator_name(node);
    found.node = name_of_node(graph, node);
    found.version = node.version;
    unsupported_.add(std::move(found), error);
  }
  for (int32_t output : node.outputs) {  // the file says the types of what it makes
    const Tensor& tensor = graph.tensors[static_cast<size_t>(output)];
    const DataType dtype = memory_type(tensor.kind);
    if (dtype.is_void()) {
      rejected_.insert(&tensor);
      continue;
    }
    Array<PrimExpr> shape;
    for (int32_t extent : tensor.shape) shape.push_back(int_imm(DataType::Int(32), extent));
    values[static_cast<size_t>(output)] =
        Value(relay::make_local(String(std::string(tensor.name)), TensorType(shape, dtype)));
  }
}

Values Importer::import_node(const Subgraph& graph, const Operator& given, std::vector<Value>& values) {
  const std::string name = operator_name(given), label = name_of_node(graph, given);
  SpanScope span(node_span(label.empty() ? name : label));
  if (!has_converter(given)) {
    if (unsupported_) throw Error(kFollowsUnsupported) << "no converter, which is listed beforehand";
    throw Error(OpNotImplemented) << "the operator " << name << " is not supported";
  }
  Values inputs;
  std::vector<const Tensor*> in, out;
  for (int32_t index : given.inputs) {
    inputs.push_back(value_of(graph, values, index));
    in.push_back(index < 0 ? nullptr : &graph.tensors[static_cast<size_t>(index)]);
  }
  for (int32_t index : given.outputs) out.push_back(&graph.tensors[static_cast<size_t>(index)]);
  Node node(Operation(*this, name, label, inputs, given.attributes, given.outputs.size()), in, out);
  return frontend::converted(node, [&] { return convert(node, given, inputs, out); });
}

Imported Importer::run() {
  const Subgraph& graph = model_.subgraphs[0];
  Array<relay::Var> params;
  Values inputs;
  for (int32_t index : graph.inputs) {
    const Tensor& tensor = graph.tensors[static_cast<size_t>(index)];
    const std::string name(tensor.name);
    auto given = options_.shapes.find(name);
    auto type = options_.dtypes.find(name);
    const DataType dtype = type == options_.dtypes.end() ? memory_type(tensor.kind) : type->second;
    if (dtype.is_void())
      throw Error(OpNotImplemented) << "the input " << name << " is of a type that tensors do not have here";
    std::vector<int64_t> extents(tensor.shape.begin(), tensor.shape.end());
    if (given != options_.shapes.end()) extents = given->second;
    if (extents.size() > kMaxDimensions)
      throw Error(ValueError) << "the input " << name << " has " << extents.size() << " dimensions";
    Array<PrimExpr> shape;
    for (int64_t extent : extents) {
      if (extent > INT32_MAX)
        throw Error(ValueError) << "the input " << name << " has a dimension of extent " << extent;
      shape.push_back(extent < 0 ? op::any_extent() : int_imm(DataType::Int(32), extent));
    }
    params.push_back(relay::make_local(String(name), TensorType(shape, dtype)));
    inputs.push_back(Value(Expr(params.back())));
  }
  std::vector<Value> values(graph.tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(graph.inputs[i])] = inputs[i];
  import_nodes(graph, values);
  Imported out;
  if (unsupported_ && !unsupported_.empty()) return out;
  Array<Expr> results;
  Array<String> names;
  for (int32_t index : graph.outputs) {
    const Value& value = value_of(graph, values, index);
    if (!value.tensor.defined())
      throw Error(OpNotImplemented) << "the output " << name_of_tensor(graph, index) << " is no tensor";
    results.push_back(value.tensor);
    names.push_back(String(name_of_tensor(graph, index)));
  }
  if (results.empty()) throw Error(ValueError) << "the graph has no outputs";
  Expr body = results.size() == 1 ? results[0] : relay::make_tuple(results);
  if (!options_.freeze_params) body = with_parameters(body, constants_, &params, &out.params);
  out.mod = module_of_main(params, body, DictAttrs().with(relay::kOutputNames, names));
  return out;
}

}  // namespace

const Quantization& Node::quantized_input(size_t i) const {
  return i < in_.size() && in_[i] ? in_[i]->quantization : kPlain;
}
const Quantization& Node::quantized_output(size_t i) const {
  return i < out_.size() && out_[i] ? out_[i]->quantization : kPlain;
}

bool Node::is_quantized() const {
  auto is = [](const Tensor* tensor) {
    return tensor && tensor->quantization.is_given() && (memory_type(tensor->kind).bits <= 16) &&
           !is_float(memory_type(tensor->kind));
  };
  return std::any_of(in_.begin(), in_.end(), is) || std::any_of(out_.begin(), out_.end(), is);
}

DataType Node::output_type(size_t i) const {
  const DataType out = i < out_.size() ? memory_type(out_[i]->kind) : DataType::Void();
  if (out.is_void()) unsupported("a result of a type that tensors do not have here");
  return out;
}

Node Node::with_inputs(Values inputs) const { return Node(as(name(), std::move(inputs)), in_, out_); }

Converter as(const char* op) {
  return [op](Node& in) { return tensorflow::convert_as(op, in); };
}

std::string operator_name(const Operator& node) {
  if (!node.custom.empty()) return std::string(node.custom);
  if (const Row* row = find_row(node.code)) return row->name;
  return node.code == kCustom ? "CUSTOM" : "builtin operator " + std::to_string(node.code);
}

std::vector<std::string> unsupported_operators(const Model& model) {
  std::set<std::string> out;
  for (const Subgraph& graph : model.subgraphs)
    for (const Operator& node : graph.operators)
      if (!has_converter(node)) out.insert(operator_name(node));
  return {out.begin(), out.end()};
}

Imported import_model(const Model& model, const ImportOptions& options) {
  if (std::vector<std::string> missing = unsupported_operators(model); !missing.empty()) {
    Error error(OpNotImplemented);
    error << "The following operators are not supported in frontend TFLite: ";
    for (size_t i = 0; i < missing.size(); ++i) error << (i ? ", " : "") << "'" << missing[i] << "'";
    std::set<std::string> told;
    for (const Subgraph& graph : model.subgraphs)
      for (const Operator& node : graph.operators)
        if (!has_converter(node) && told.insert(operator_name(node)).second)
          error << "\n  in node " << operator_name(node) << ", which makes " << name_of_node(graph, node);
    throw error;
  }
  return Importer(model, options, nullptr).run();
}

Survey survey_model(const Model& model, const ImportOptions& options) {
  Survey out;
  for (const Subgraph& graph : model.subgraphs)
    for (const Operator& node : graph.operators)
      if (!has_converter(node)) {
        UnsupportedNode found;
        found.op = operator_name(node);
        found.node = name_of_node(graph, node);
        found.version = node.version;
        found.reason = "the operator is not supported";
        out.unsupported.push_back(found);
      }
  out.imported = Importer(model, options, &out.unsupported).run();
  if (!out.unsupported.empty()) out.imported = {};
  return out;
}

}  // namespace tessera::tflite
