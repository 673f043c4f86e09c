#include "frontend/onnx/importer.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/restore.h"
#include "base/stack.h"
#include "frontend/common/converted.h"
#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parameters.h"
#include "frontend/onnx/minifloat.h"
#include "frontend/onnx/scope.h"
#include "ir/prim/ops.h"
#include "ir/span_scope.h"
#include "op/rules.h"
#include "relay/dim_names.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/output_names.h"
#include "relay/type/rule.h"
#include "relay/type/type_of.h"
#include "relay/walk.h"
#include "runtime/function/element.h"
#include "runtime/registry.h"

namespace tessera::onnx {
namespace {

constexpr int kMaxCalls = 200;  // of functions within functions

/// The converters of an operator, by the version since which they hold.
using Table = std::map<std::pair<std::string, std::string>, std::map<int64_t, Converter>>;

const Table& converters() {
  static const Table table = [] {
    Table out;
    for (auto family : {attention_rows, cast_rows,          classifier_rows,  control_rows,
                        create_rows,    einsum_rows,        elementwise_rows, fused_quantized_rows,
                        fused_rows,     image_rows,         index_rows,       ml_rows,
                        nn_rows,        normalization_rows, pad_rows,         pool_rows,
                        quantized_rows, random_rows,        recurrent_rows,   reduction_rows,
                        resize_rows,    sequence_rows,      shape_rows,       signal_rows,
                        slice_rows,     text_rows,          training_rows})
      for (const Row& row : family()) out[{row.op, row.domain}][row.since] = row.convert;
    return out;
  }();
  return table;
}

/// A tensor of the file as a constant.
Value constant_of(const Tensor& tensor, const DataFolder& folder) {
  if (tensor.type == ElementType::String) return Value::of(Texts{tensor.dims, text_items(tensor)});
  Value out(relay::make_constant(to_ndarray(tensor, folder)));
  if (small_bits(tensor.type) || is_minifloat(tensor.type)) out.element = tensor.type;
  return out;
}

ElementType minifloat_type(ElementType type) {
  return small_bits(type) || is_minifloat(type) ? type : ElementType::Undefined;
}

/// What a node is called, after the name of the node whose function or inner graph it is in.
Span span_of(const Node& node) {
  std::vector<std::string> outer;
  add_node_names(current_span(), &outer);
  return node_span((outer.empty() ? "" : outer[0] + "/") + node_label(node));
}

/// The attributes of a function's nodes that stand for attributes of the call are replaced by those.
Node with_attributes_of(const Node& node, const Function& function, const Node& call) {
  Node out = node;
  std::set<std::string_view> replaced;  // graphs among them are the caller's: what they refer to is not ours to replace
  std::erase_if(out.attributes, [&](Attribute& attribute) {
    if (attribute.referred.empty()) return false;
    replaced.insert(attribute.name);
    for (const auto* list : {&call.attributes, &function.defaults})
      for (const Attribute& given : *list)
        if (given.name == attribute.referred) {
          std::string_view name = attribute.name;
          attribute = given;
          attribute.name = name;
          return false;
        }
    return true;  // not given, and without a default: as if it were not there
  });
  for (Attribute& attribute : out.attributes) {
    if (replaced.count(attribute.name)) continue;
    for (std::shared_ptr<Graph>& graph : attribute.graphs) {
      auto copy = std::make_shared<Graph>(*graph);
      for (Node& inner : copy->nodes) inner = with_attributes_of(inner, function, call);
      graph = copy;
    }
  }
  return out;
}

/// "node Add sum_3", or where it has no name "node Add, which makes y".
std::string node_text(const Node& node) {
  std::string out = "node " + std::string(node.op);
  if (!node.name.empty()) return out + " " + std::string(node.name);
  auto made = std::find_if(node.outputs.begin(), node.outputs.end(), [](auto name) { return !name.empty(); });
  return made == node.outputs.end() ? out : out + ", which makes " + std::string(*made);
}

/// Extents are 32-bit numbers.
int64_t checked_extent(const std::string& name, int64_t extent) {
  if (extent > INT32_MAX)
    throw Error(ValueError) << "the input " << name << " has a dimension of extent " << extent << "; at most "
                            << INT32_MAX << " is supported";
  return extent;
}

void check_size(const std::string& name, const Array<PrimExpr>& shape, DataType dtype) {
  if (shape.size() > kMaxRank)
    throw Error(ValueError) << "the input " << name << " has " << shape.size() << " dimensions; at most " << kMaxRank
                            << " are supported";
  std::vector<int64_t> fixed;
  for (const PrimExpr& extent : shape)
    if (const int64_t* value = as_int(extent)) fixed.push_back(*value);
  constexpr size_t kMaxBytes = size_t{1} << 42;
  if (tensor_bytes(fixed, dtype) > kMaxBytes)
    throw Error(ValueError) << "the shape of the input " << name << " asks for more than 4 TiB";
}

/// Counts up while it lives.
struct Level {
  explicit Level(int& count) : count(count) { ++count; }
  ~Level() { --count; }
  int& count;
};

/// True where some input has an extent that a run decides.
bool has_dynamic_inputs(const Model& model, const ImportOptions& options) {
  auto is_dynamic = [&](const ValueInfo& input) {
    if (auto given = options.shapes.find(std::string(input.name)); given != options.shapes.end())
      return std::any_of(given->second.begin(), given->second.end(), [](int64_t extent) { return extent < 0; });
    return std::any_of(input.type.shape.begin(), input.type.shape.end(), [](const Dimension& dimension) {
      return dimension.kind != Dimension::Known || dimension.value < 0;
    });
  };
  return std::any_of(model.graph.inputs.begin(), model.graph.inputs.end(), is_dynamic);
}

/// What models compute from shapes, as a constant where all its elements are seen: a number stays one beside dynamic extents.
Expr as_seen(const Expr& tensor) {
  auto* type = tensor.as<relay::Call>() ? relay::type_of(tensor).as<TensorTypeNode>() : nullptr;
  if (!type || (type->dtype != DataType::Int(64) && type->dtype != DataType::Int(32)) || type->shape.size() > 1)
    return tensor;
  std::optional<std::vector<int64_t>> elements = frontend::seen_ints(tensor);
  if (!elements) return tensor;
  if (type->shape.empty()) return relay::make_constant(int_scalar((*elements)[0], type->dtype));
  return relay::make_ints(*elements, type->dtype);
}

/// A value that is known, or the error of one that is not because its node is rejected.
const Value& known(const Scope& scope, std::string_view name) {
  const Value& out = scope.find(name);
  if (out.is_rejected) throw Error(kFollowsUnsupported) << "the value \"" << std::string(name) << "\" is not known";
  return out;
}

}  // namespace

std::string domain_of(std::string_view domain) { return domain == "ai.onnx" ? "" : std::string(domain); }

Converter find_converter(const std::string& op, const std::string& domain, int64_t version) {
  auto it = converters().find({op, domain});
  if (it == converters().end()) return nullptr;
  auto since = it->second.upper_bound(version);
  return since == it->second.begin() ? nullptr : std::prev(since)->second;
}

const Function* find_function(const Model& model, const Node& node) {
  for (const Function& function : model.functions)
    if (function.name == node.op && domain_of(function.domain) == domain_of(node.domain) &&
        function.overload == node.overload)
      return &function;
  return nullptr;
}

Versions versions_of(const Model& model) {
  Versions out;
  for (const OperatorSet& set : model.operator_sets) out[domain_of(set.domain)] = set.version;
  out.try_emplace("", 1);
  return out;
}

Importer::Importer(const Model& model, const ImportOptions& options, std::vector<UnsupportedNode>* unsupported,
                   bool names_extents)
    : model_(model),
      options_(options),
      unsupported_(unsupported),
      names_extents_(names_extents),
      versions_(versions_of(model)) {
  if (options.opset) versions_[""] = *options.opset;
}

int64_t Importer::version_of(const std::string& domain) const {
  auto it = versions_.find(domain);
  return it == versions_.end() ? 1 : it->second;
}

void Importer::find_fixed_dims() {
  std::map<std::string_view, std::string_view> fixed_by;
  for (const ValueInfo& input : model_.graph.inputs) {
    auto given = options_.shapes.find(std::string(input.name));
    if (given == options_.shapes.end()) continue;
    for (size_t i = 0; i < std::min(given->second.size(), input.type.shape.size()); ++i) {
      const Dimension& dimension = input.type.shape[i];
      int64_t extent = given->second[i];
      if (dimension.kind != Dimension::Named || dimension.name.empty() || extent < 0) continue;
      auto [it, is_new] = fixed_dims_.emplace(dimension.name, extent);
      if (is_new) fixed_by[dimension.name] = input.name;
      else if (it->second != extent)
        throw Error(ValueError) << "the dimension \"" << std::string(dimension.name) << "\" is given as " << it->second
                                << " for the input \"" << std::string(fixed_by[dimension.name]) << "\" and as "
                                << extent << " for the input \"" << std::string(input.name) << "\"";
    }
  }
}

Array<String> Importer::dim_names(const ValueInfo& input, const Type& type) const {
  auto* tensor = type.as<TensorTypeNode>();
  Array<String> out;
  bool has_any = false;
  for (size_t i = 0; tensor && i < tensor->shape.size(); ++i) {
    bool is_named =
        i < input.type.shape.size() && input.type.shape[i].kind == Dimension::Named && !as_int(tensor->shape[i]);
    out.push_back(is_named ? String(std::string(input.type.shape[i].name)) : String(""));
    has_any |= !out[i].empty();
  }
  return has_any ? out : Array<String>();
}

Type Importer::input_type(const ValueInfo& input) const {
  std::string name(input.name);
  if (input.type.kind != ValueType::Tensor)
    throw Error(OpNotImplemented) << "the input " << name << " is not a tensor; only tensors can be given to a model";
  if (input.type.element == ElementType::String)
    throw Error(OpNotImplemented) << "strings must be known while importing; the model depends on the inputs: " << name;
  auto dtype = options_.dtypes.find(name);
  DataType element = dtype == options_.dtypes.end() ? memory_type(input.type.element) : dtype->second;
  Array<PrimExpr> shape;
  // Of one name, dimensions are equal: a number for one of them is a number for all.
  auto unknown = [&](size_t dim) {
    if (dim < input.type.shape.size() && input.type.shape[dim].kind == Dimension::Named)
      if (auto fixed = fixed_dims_.find(input.type.shape[dim].name); fixed != fixed_dims_.end())
        return int_imm(DataType::Int(32), checked_extent(name, fixed->second));
    return op::any_extent();
  };
  if (auto given = options_.shapes.find(name); given != options_.shapes.end()) {
    for (int64_t extent : given->second)
      shape.push_back(extent < 0 ? unknown(shape.size()) : int_imm(DataType::Int(32), checked_extent(name, extent)));
  } else {
    if (!input.type.has_shape)
      throw Error(ValueError) << "the number of dimensions of the input " << name
                              << " is not in the file; give its shape";
    for (const Dimension& dimension : input.type.shape) {
      bool is_fixed = dimension.kind == Dimension::Known && dimension.value >= 0;
      shape.push_back(is_fixed ? int_imm(DataType::Int(32), checked_extent(name, dimension.value))
                               : unknown(shape.size()));
    }
  }
  check_size(name, shape, element);
  return TensorType(shape, element);
}

Type Importer::named_type(const Type& type, const Array<String>& names) {
  auto* tensor = type.as<TensorTypeNode>();
  Array<PrimExpr> shape = tensor->shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (as_int(shape[i])) continue;
    std::string name = i < names.size() ? names[i].str() : "";
    PrimExpr fresh = make_size_var(name.empty() ? "d" + std::to_string(num_unnamed_++) : name);
    shape.set(i, name.empty() ? fresh : extents_.emplace(name, fresh).first->second);
  }
  return with(tensor, &TensorTypeNode::shape, shape);
}

std::optional<std::pair<Expr, int>> Importer::input_of(const PrimExpr& extent) const {
  if (outer) return outer->input_of(extent);
  auto it = inputs_of_.find(extent.get());
  if (it == inputs_of_.end()) return std::nullopt;
  return it->second;
}

Imported Importer::run() {
  const Graph& graph = model_.graph;
  relay::ExtentAssumptions assumed;  // what the run of the program checks
  Scope scope(nullptr);
  Array<relay::Var> params;
  Imported out;
  std::set<std::string_view> initialized;
  for (const Tensor& tensor : graph.initializers) {
    initialized.insert(tensor.name);
    Value value;
    try {
      value = constant_of(tensor, model_.folder);
    } catch (const Error& error) {
      if (!unsupported_) throw;
      reject_value("an initializer", tensor.name, error, scope);
      continue;
    }
    if (!options_.freeze_params && !value.texts) {
      relay::Var var = relay::make_local(std::string(tensor.name), relay::type_of(value.tensor));
      params.push_back(var);
      out.params.set(String(std::string(tensor.name)), value.tensor.as<relay::Constant>()->data);
      value.tensor = var;
    }
    scope.define(tensor.name, value);
  }
  Array<relay::Var> inputs;
  Map<String, Array<String>> dims;
  find_fixed_dims();
  for (const SparseTensor& tensor : graph.sparse_initializers)
    scope.define(tensor.values.name, relay::make_constant(to_ndarray(tensor, model_.folder)));
  for (const ValueInfo& input : graph.inputs) {
    if (initialized.count(input.name)) continue;
    if (auto known = options_.frozen.find(std::string(input.name)); known != options_.frozen.end()) {
      Value value = known->second;
      value.element = minifloat_type(input.type.element);
      scope.define(input.name, value);
      continue;
    }
    Type type;
    try {
      type = input_type(input);
    } catch (const Error& error) {
      if (!unsupported_) throw;
      reject_value("an input", input.name, error, scope);
      continue;
    }
    relay::Var var = relay::make_local(std::string(input.name), type);
    inputs.push_back(var);
    Array<String> names = dim_names(input, type);
    if (!names.empty()) dims.set(String(std::string(input.name)), names);
    if (names_extents_) {
      var->checked_type_ = named_type(type, names);
      const Array<PrimExpr>& shape = var->checked_type_.as<TensorTypeNode>()->shape;
      for (size_t i = 0; i < shape.size(); ++i)
        if (!as_int(shape[i])) inputs_of_.try_emplace(shape[i].get(), Expr(var), static_cast<int>(i));
    }
    Value value{Expr(var)};
    value.element = minifloat_type(input.type.element);
    scope.define(input.name, value);
  }
  for (const relay::Var& param : params) inputs.push_back(param);
  import_nodes(graph.nodes, &graph, scope);
  if (unsupported_ && !unsupported_.empty()) return {};
  out.layers = std::move(layers_);
  Array<Expr> results;
  Array<String> names;
  for (const ValueInfo& output : graph.outputs) {
    Value value = scope.find(output.name);
    std::string name(output.name);
    if (value.sequence) {
      Array<Expr> items;
      for (const Value& item : *value.sequence) {
        names.push_back(String(name + "[" + std::to_string(items.size()) + "]"));
        items.push_back(item.tensor);
      }
      results.push_back(relay::make_tuple(items));
    } else if (value.tensor.defined()) {
      names.push_back(String(name));
      results.push_back(value.tensor);
    } else if (value.texts) {
      if (!options_.takes_texts)
        throw Error(OpNotImplemented) << "the output " << std::string(output.name) << " is strings";
      out.texts.emplace_back(std::string(output.name), value);
    } else {
      throw Error(ValueError) << "nothing in the graph makes the output " << std::string(output.name);
    }
  }
  if (graph.outputs.empty()) throw Error(ValueError) << "the graph has no outputs";
  Expr body = results.size() == 1 ? results[0] : relay::make_tuple(results);
  if (names_extents_) {
    forget_names(body);
    for (const Layer& layer : out.layers) forget_names(layer.value);
  }
  DictAttrs attrs = DictAttrs().with(relay::kOutputNames, names);
  if (!dims.empty()) attrs = attrs.with(relay::attr::kDimNames, dims);
  out.mod = frontend::module_of_main(inputs, body, attrs);
  return out;
}

Values Importer::import_graph(const Graph& graph, const Values& inputs, const Scope& outer) {
  Level call(depth_), inner(inner_graphs_);
  num_nodes_ += 10;  // what an iteration costs
  if (depth_ > kMaxCalls)
    throw Error(ValueError) << "functions or graphs of the model call each other deeper than " << kMaxCalls
                            << " levels";
  Scope scope(&outer);
  for (const Tensor& tensor : graph.initializers) scope.define(tensor.name, constant_of(tensor, model_.folder));
  for (const SparseTensor& tensor : graph.sparse_initializers)
    scope.define(tensor.values.name, relay::make_constant(to_ndarray(tensor, model_.folder)));
  if (inputs.size() > graph.inputs.size()) throw Error(ValueError) << "a graph inside a node is given too many inputs";
  for (size_t i = 0; i < inputs.size(); ++i) scope.define(graph.inputs[i].name, inputs[i]);
  import_nodes(graph.nodes, &graph, scope);
  Values out;
  for (const ValueInfo& output : graph.outputs) out.push_back(known(scope, output.name));
  return out;
}

void Importer::import_nodes(const std::vector<Node>& nodes, const Graph* graph, Scope& scope) {
  for (const Node& node : nodes) {
    if (++num_nodes_ > options_.most_nodes)
      throw Error(ValueError) << "with its functions and loops written out, the model has more than "
                              << options_.most_nodes << " nodes";
    try {
      define_outputs(node, on_enough_stack([&] { return import_node(node, scope); }), scope);
    } catch (Error& error) {
      if (unsupported_) {
        reject(node, error, scope);
        define_stand_ins(node, graph, scope);
        continue;
      }
      error << "\n  in " << node_text(node);
      throw;
    }
  }
}

void Importer::define_outputs(const Node& node, Values outputs, Scope& scope) {
  for (size_t i = outputs.size(); i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      throw Error(OpNotImplemented) << std::string(node.op) << ": output " << i << " is not supported";
  bool follows = unsupported_ && follows_unsupported(node, scope);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (outputs[i].tensor.defined()) relay::typed(outputs[i].tensor);  // what does not fit is this node's fault
    if (names_extents_ && outputs[i].tensor.defined()) outputs[i].tensor = as_seen(outputs[i].tensor);
    outputs[i].follows_unsupported = follows;
    if (options_.keep_layers && inner_graphs_ == 0 && outputs[i].tensor.defined())
      layers_.push_back({std::string(node.op), domain_of(node.domain), std::string(node.name),
                         std::string(node.outputs[i]), outputs[i].tensor, depth_ > 0});
    scope.define(node.outputs[i], std::move(outputs[i]));
  }
}

Values Importer::import_node(const Node& node, Scope& scope) {
  SpanScope span(span_of(node));
  Values inputs;
  for (std::string_view name : node.inputs) inputs.push_back(name.empty() ? Value() : known(scope, name));
  std::string domain = domain_of(node.domain);
  if (Converter convert = find_converter(std::string(node.op), domain, version_of(domain))) {
    check_small_inputs(node, inputs);
    Operation operation(*this, node, version_of(domain), inputs);
    Restore<const Scope*> outer(scope_, &scope);
    return frontend::converted(operation, [&] {
      Values outputs = convert(operation);
      mark_small_outputs(node, inputs, &outputs);
      return outputs;
    });
  }
  const Function* function = find_function(model_, node);
  if (!function && unsupported_) throw Error(kFollowsUnsupported) << "no converter, which is listed beforehand";
  if (!function)
    throw Error(OpNotImplemented) << "the operator " << std::string(node.op) << (domain.empty() ? "" : " of " + domain)
                                  << " is not supported in version " << version_of(domain);
  return call_function(*function, node, inputs);
}

Values Importer::call_function(const Function& function, const Node& call, const Values& inputs) {
  Level level(depth_);
  if (depth_ > kMaxCalls)
    throw Error(ValueError) << "functions of the model call each other deeper than " << kMaxCalls << " levels";
  Scope scope(nullptr);
  for (size_t i = 0; i < function.inputs.size(); ++i)
    scope.define(function.inputs[i], i < inputs.size() ? inputs[i] : Value());
  Restore<Versions> versions(versions_, versions_);
  for (const OperatorSet& set : function.operator_sets) versions_[domain_of(set.domain)] = set.version;
  std::vector<Node> nodes;
  for (const Node& node : function.nodes) nodes.push_back(with_attributes_of(node, function, call));
  import_nodes(nodes, nullptr, scope);
  Values out;
  for (std::string_view output : function.outputs) out.push_back(known(scope, output));
  return out;
}

std::string node_label(const Node& node) {
  if (!node.name.empty()) return std::string(node.name);
  std::string output(node.outputs.empty() ? "" : node.outputs[0]);
  return std::string(node.op) + (output.empty() ? "" : " -> " + output);
}

std::unordered_set<const Object*> Importer::visible_tensors() const {
  std::unordered_set<const Object*> out;
  if (scope_)
    scope_->for_each([&](const Value& value) {
      out.insert(value.tensor.get());
      if (value.sequence)
        for (const Value& item : *value.sequence) out.insert(item.tensor.get());
    });
  return out;
}

Values Operation::import(const Graph& graph, const Values& inputs) const {
  return importer_.import_graph(graph, inputs, *importer_.scope_);
}

std::optional<NDArray> Operation::tensor(std::string_view name) const {
  const Attribute* attribute = find(name);
  if (!attribute) return std::nullopt;
  if (attribute->kind != Attribute::TensorValue || attribute->tensors.empty())
    throw Error(OpAttributeInvalid) << this->name() << ": the attribute " << std::string(name) << " is no tensor";
  element_type(attribute->tensors[0].type);  // rejects what is more than its bytes
  return to_ndarray(attribute->tensors[0], importer_.model_.folder);
}

std::optional<Value> Operation::tensor_value(std::string_view name) const {
  const Attribute* attribute = find(name);
  if (!attribute) return std::nullopt;
  if (attribute->kind != Attribute::TensorValue || attribute->tensors.empty())
    throw Error(OpAttributeInvalid) << this->name() << ": the attribute " << std::string(name) << " is no tensor";
  return constant_of(attribute->tensors[0], importer_.model_.folder);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

Imported import_model(const Model& model, const ImportOptions& options) {
  if (auto missing = unsupported_operators(model); !missing.empty()) {
    Error error(OpNotImplemented);
    error << "The following operators are not supported for frontend ONNX: ";
    for (size_t i = 0; i < missing.size(); ++i)
      error << (i ? ", " : "") << missing[i].first << (missing[i].second.empty() ? "" : " (" + missing[i].second + ")");
    std::set<std::string> told;
    for (const UnsupportedNode& node : without_converter(model, versions_of(model)))
      if (told.insert(node.op).second) error << "\n  in node " << node.op << " " << node.node;
    throw error;
  }
  try {
    return Importer(model, options).run();
  } catch (const Error&) {
    if (!has_dynamic_inputs(model, options)) throw;
  }
  return Importer(model, options, nullptr, false).run();  // extents that disagree by name may agree in every run
}

}  // namespace tessera::onnx
