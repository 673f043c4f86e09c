#include "frontend/torch/importer.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/restore.h"
#include "base/stack.h"
#include "frontend/common/converted.h"
#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parameters.h"
#include "frontend/torch/quantize.h"
#include "frontend/torch/scope.h"
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
#include "runtime/function/shape_functions.h"

namespace tessera::torch {
namespace {

constexpr int kMaxGraphs = 200;  // within graphs
constexpr size_t kMaxRank = 64;
constexpr int64_t kMaxOutputs = 100'000;

const std::unordered_map<std::string, Converter>& converters() {
  static const std::unordered_map<std::string, Converter> table = [] {
    std::unordered_map<std::string, Converter> out;
    for (auto family :
         {activation_rows,  attention_rows, complex_rows,     conv_rows,  control_rows,   create_rows,
          elementwise_rows, index_rows,     linear_rows,      list_rows,  loss_rows,      normalization_rows,
          number_rows,      packed_rows,    pad_rows,         pool_rows,  quantized_rows, recurrent_rows,
          reduction_rows,   resize_rows,    scatter_rows,     shape_rows, signal_rows,    slice_rows,
          sort_rows,        strided_rows,   transformer_rows, vision_rows})
      for (const Row& row : family()) out[row.op] = row.convert;
    return out;
  }();
  return table;
}

/// Functions of Python that graphs call on numbers, by the operators that do the same.
constexpr std::pair<const char*, const char*> kPythonFunctions[] = {{"add", "aten::add"},
                                                                    {"sub", "aten::sub"},
                                                                    {"mul", "aten::mul"},
                                                                    {"truediv", "aten::div"},
                                                                    {"floordiv", "aten::floor_divide"},
                                                                    {"mod", "aten::remainder"},
                                                                    {"pow", "aten::pow"},
                                                                    {"neg", "aten::neg"},
                                                                    {"eq", "aten::eq"},
                                                                    {"ne", "aten::ne"},
                                                                    {"lt", "aten::lt"},
                                                                    {"le", "aten::le"},
                                                                    {"gt", "aten::gt"},
                                                                    {"ge", "aten::ge"},
                                                                    {"and_", "aten::__and__"},
                                                                    {"or_", "aten::__or__"},
                                                                    {"not_", "aten::logical_not"},
                                                                    {"sym_not", "aten::logical_not"},
                                                                    {"sym_max", "prim::max"},
                                                                    {"sym_min", "prim::min"},
                                                                    {"sym_float", "aten::Float"},
                                                                    {"sym_int", "aten::Int"},
                                                                    {"_sym_sqrt", "math::sqrt"},
                                                                    {"ceil", "math::ceil"},
                                                                    {"floor", "math::floor"},
                                                                    {"trunc", "math::trunc"},
                                                                    {"sqrt", "math::sqrt"}};

/// Calls `visit` for all nodes, also those of graphs inside nodes.
template <class F>
void for_each_node(const Graph& graph, const F& visit) {
  for (const Node& node : graph.nodes) {
    visit(node);
    auto inside = [&](const std::shared_ptr<Graph>& block) {
      if (block) on_enough_stack([&] { for_each_node(*block, visit); });
    };
    for (const std::shared_ptr<Graph>& block : node.blocks) inside(block);
    for (const auto& [_, arg] : node.args) inside(arg.block);
  }
}

std::string plain_name(const std::string& op) { return is_in_place(op) ? op.substr(0, op.size() - 1) : op; }

/// The operator as the caller's table may call it: with its overload or without, in place or not.
const PackedFunc* find_custom(const ImportOptions& options, const Node& node) {
  for (const std::string& name : {node.op + "." + node.overload, node.op, plain_name(node.op)})
    if (auto it = options.custom.find(name); it != options.custom.end()) return &it->second;
  return nullptr;
}

void check_input_size(const Input& input) {
  std::vector<int64_t> fixed;
  for (const Input::Dim& dim : input.shape)
    if (dim.extent >= 0) fixed.push_back(dim.extent);
  constexpr size_t kMaxBytes = size_t{1} << 42;
  if (tensor_bytes(fixed, input.dtype) > kMaxBytes)
    throw Error(ValueError) << "the shape of the input " << input.title << " asks for more than 4 TiB";
}

/// Without anything that a caller of a function cannot be given: results in a row, tuples in tuples.
void add_results(const Value& value, const Operation& in, Array<Expr>* out) {
  if (value.is_absent()) return;
  if (static_cast<int64_t>(out->size()) > kMaxOutputs) throw Error(ValueError) << "the program has too many outputs";
  if (value.kind == Value::Text) throw Error(OpNotImplemented) << "an output is a text";
  if (value.kind == Value::Rows)
    throw Error(OpNotImplemented) << "an output is a list whose length a run decides; stack it in the program";
  if (value.is_complex) throw Error(OpNotImplemented) << "an output has complex numbers; give torch.view_as_real of it";
  if (value.kind == Value::List || value.kind == Value::Dict) {
    const bool is_dict = value.kind == Value::Dict;
    for (size_t i = is_dict ? 1 : 0; i < value.items->size(); i += is_dict ? 2 : 1)
      on_enough_stack([&] { add_results((*value.items)[i], in, out); });
    return;
  }
  out->push_back(in.tensor_of(value));
}

}  // namespace

bool is_in_place(const std::string& op) {
  size_t length = op.size();
  return length > 2 && op[length - 1] == '_' && op[length - 2] != '_' && op[length - 2] != ':';
}

Converter find_converter(const std::string& given) {
  std::string op = given;
  for (const auto& [name, same] : kPythonFunctions)
    if (given.starts_with("operator::") && given.substr(10) == name) op = same;
  auto it = converters().find(op);
  if (it == converters().end()) it = converters().find(plain_name(op));
  return it == converters().end() ? nullptr : it->second;
}

std::vector<UnsupportedNode> without_converter(const Program& program, const ImportOptions& options) {
  std::vector<UnsupportedNode> out;
  for_each_node(program.graph, [&](const Node& node) {
    if (find_converter(node.op) || find_custom(options, node)) return;
    UnsupportedNode found;
    size_t colon = node.op.find("::");
    found.op = colon == std::string::npos ? node.op : node.op.substr(colon + 2);
    found.domain = colon == std::string::npos ? "" : node.op.substr(0, colon);
    found.node = node.label;
    found.reason = "the operator is not supported";
    out.push_back(std::move(found));
  });
  return out;
}

Importer::Importer(const Program& program, const ImportOptions& options, std::vector<UnsupportedNode>* unsupported,
                   bool names_extents)
    : program_(program),
      options_(options),
      unsupported_(unsupported),
      names_extents_(names_extents),
      params_(program.params.begin(), program.params.end()) {
  for_each_node(program.graph, [&](const Node& node) {
    changes_in_place_ |= is_in_place(node.op) || node.op == "aten::as_strided";  // which asks how memory is laid out
  });
}

relay::Var Importer::input_var(const Input& input, Map<String, Array<String>>* dims) {
  if (input.shape.size() > kMaxRank)
    throw Error(ValueError) << "the input " << input.title << " has " << input.shape.size() << " dimensions; at most "
                            << kMaxRank << " are supported";
  check_input_size(input);
  Array<PrimExpr> shape, named;
  Array<String> names;
  bool is_named = false;
  for (const Input::Dim& dim : input.shape) {
    if (dim.extent >= 0) {
      shape.push_back(int_imm(DataType::Int(32), dim.extent));
      named.push_back(shape.back());
      names.push_back("");
      continue;
    }
    shape.push_back(op::any_extent());
    std::string name = dim.name.empty() ? "d" + std::to_string(extents_.size()) : dim.name;
    auto [it, is_new] = extents_.emplace(name, PrimExpr());
    if (is_new) it->second = make_size_var(name);
    named.push_back(it->second);
    names.push_back(dim.name);
    is_named |= !dim.name.empty();
  }
  relay::Var var = relay::make_local(input.title, TensorType(shape, input.dtype));
  if (is_named) dims->set(String(input.title), names);
  if (names_extents_) {
    var->checked_type_ = TensorType(named, input.dtype);
    for (size_t i = 0; i < named.size(); ++i)
      if (!as_int(named[i])) inputs_of_.try_emplace(named[i].get(), Expr(var), static_cast<int>(i));
  }
  return var;
}

std::optional<std::pair<Expr, int>> Importer::input_of(const PrimExpr& extent) const {
  auto it = inputs_of_.find(extent.get());
  if (it == inputs_of_.end()) return std::nullopt;
  return it->second;
}

Value Importer::weight(const std::string& name) {
  if (auto known = weights_.find(name); known != weights_.end()) return known->second;
  auto given = program_.weights.find(name);
  if (given == program_.weights.end()) throw Error(ValueError) << "the program has no weight \"" << name << "\"";
  Value out;
  if (params_.count(name)) {
    const NDArray& data = given->second;
    Array<PrimExpr> shape = relay::int_array({data.shape().begin(), data.shape().end()});
    relay::Var var = relay::make_local(name, TensorType(shape, data.dtype()));
    var->checked_type_ = var->type_annotation;
    param_vars_.push_back(var);
    param_values_.set(String(name), data);
    out = Value(Expr(var));
  } else {
    out = Value(relay::make_constant(given->second));
  }
  weights_.emplace(name, out);
  return out;
}

Value Importer::value_of(const Argument& argument, const Scope& scope) {
  switch (argument.kind) {
    case Argument::Absent:
    case Argument::Block: return {};
    case Argument::Bool: return Value::of(argument.integer != 0);
    case Argument::Int: return Value::of(argument.integer);
    case Argument::Float: return Value::of(argument.real);
    case Argument::Text: return Value::of(argument.text);
    case Argument::Weight: {
      Value out = weight(argument.text);
      out.is_complex = argument.integer != 0;
      return out;
    }
    case Argument::Name: {
      const Value& out = scope.find(argument.text);
      if (out.follows_unsupported)
        throw Error(kFollowsUnsupported) << "the value \"" << argument.text << "\" is not known";
      return out;
    }
    case Argument::List: break;
  }
  std::vector<Value> items;
  for (const Argument& item : argument.items) items.push_back(on_enough_stack([&] { return value_of(item, scope); }));
  return Value::of(std::move(items));
}

Imported Importer::run() {
  relay::ExtentAssumptions assumed;  // what the run of the program checks
  Scope scope(nullptr);
  Array<relay::Var> params;
  Map<String, Array<String>> dims;
  std::set<std::string> titles;
  for (const Input& input : program_.inputs) {
    if (!titles.insert(input.title).second || program_.weights.count(input.title))
      throw Error(ValueError) << "two inputs, or an input and a weight, have the name \"" << input.title << "\"";
    relay::Var var = input_var(input, &dims);
    params.push_back(var);
    scope.define(input.name, Value(Expr(var)));
  }
  import_nodes(program_.graph, scope);
  if (unsupported_ && !unsupported_.empty()) return {};
  Array<Expr> results;
  static const Node whole;
  Operation output(*this, whole, {});
  for (const Argument& argument : program_.graph.outputs) add_results(value_of(argument, scope), output, &results);
  if (results.empty()) throw Error(ValueError) << "the program has no outputs";
  for (const Expr& result : results) relay::typed(result);
  Expr body = results.size() == 1 ? results[0] : relay::make_tuple(results);
  if (names_extents_) forget_names(body);
  for (const relay::Var& param : param_vars_) params.push_back(param);
  Array<String> names;
  for (size_t i = 0; i < results.size(); ++i)
    names.push_back(i < program_.output_names.size() ? program_.output_names[i] : "output_" + std::to_string(i));
  DictAttrs attrs = DictAttrs();
  if (program_.output_names.size() == results.size()) attrs = attrs.with(relay::kOutputNames, names);
  if (!dims.empty()) attrs = attrs.with(relay::attr::kDimNames, dims);
  Imported out;
  out.params = param_values_;
  out.mod = frontend::module_of_main(params, body, attrs);
  return out;
}

Values Importer::import_graph(const Graph& graph, const Values& inputs, const Scope& outer) {
  Restore<int> level(depth_, depth_ + 1);
  num_nodes_ += 10;  // what an iteration costs
  if (depth_ > kMaxGraphs) throw Error(ValueError) << "graphs lie in graphs deeper than " << kMaxGraphs << " levels";
  Scope scope(&outer);
  if (inputs.size() > graph.inputs.size()) throw Error(ValueError) << "a graph inside a node is given too many inputs";
  for (size_t i = 0; i < inputs.size(); ++i) scope.define(graph.inputs[i], inputs[i]);
  import_nodes(graph, scope);
  Values out;
  for (const Argument& output : graph.outputs) out.push_back(value_of(output, scope));
  return out;
}

void Importer::import_nodes(const Graph& graph, Scope& scope) {
  for (const Node& node : graph.nodes) {
    if (++num_nodes_ > options_.most_nodes)
      throw Error(ValueError) << "with its loops written out, the program has more than " << options_.most_nodes
                              << " nodes";
    try {
      define_results(node, on_enough_stack([&] { return import_node(node, scope); }), scope);
    } catch (Error& error) {
      if (unsupported_) {
        reject(node, error, scope);
        continue;
      }
      error << "\n  in node " << node.op << (node.label.empty() ? "" : " " + node.label);
      throw;
    }
  }
}

Values Importer::import_node(const Node& node, Scope& scope) {
  std::vector<std::string> outer;
  add_node_names(current_span(), &outer);
  SpanScope span(node_span((outer.empty() ? "" : outer[0] + "/") + (node.label.empty() ? node.op : node.label)));
  Operation::Args args;
  for (const auto& [name, argument] : node.args) args.emplace_back(name, value_of(argument, scope));
  Operation operation(*this, node, args);
  if (const PackedFunc* custom = find_custom(options_, node)) return by_custom(*custom, operation);
  Converter convert = find_converter(node.op);
  if (!convert && unsupported_) throw Error(kFollowsUnsupported) << "no converter, which is listed beforehand";
  if (!convert) throw Error(OpNotImplemented) << "the operator " << node.op << " is not supported";
  Restore<const Scope*> restore(scope_, &scope);
  return frontend::converted(operation, [&] {
    Values values = convert_any(operation, convert);
    if (is_in_place(node.op)) change_in_place(args, values);
    return values;
  });
}

void Importer::change_in_place(const Operation::Args& args, Values& values) const {
  if (args.empty() || values.empty() || !args[0].second.is_tensor() || !values[0].is_tensor()) return;
  const std::shared_ptr<Cell>& cell = args[0].second.cell;
  if (cell == values[0].cell) return;
  Expr now = values[0].expr();
  Type type = relay::type_of(cell->get());
  if (auto *was = type.as<TensorTypeNode>(), *is = relay::type_of(now).as<TensorTypeNode>();
      was && is && was->dtype != is->dtype)
    now = relay::cast(now, was->dtype);  // a tensor keeps its element type
  change(cell, now);
  values[0].cell = cell;  // the result is the tensor itself, for the next operator that changes it
}

void Importer::change(const std::shared_ptr<Cell>& cell, const Expr& now) const {
  for (std::shared_ptr<Cell> at = cell; at && journal; at = at->base) journal->tensors.emplace_back(at, at->get());
  cell->set(now);
}

Values& Importer::change(const Value& list) const {
  if (journal) journal->lists.emplace_back(list.items, *list.items);
  return *list.items;
}

Value Importer::view_of(const Value& base, const ViewOf& view) const {
  Value out(view.read(base.expr()));
  out.quantized = base.quantized;
  if (!changes_in_place_) return out;
  out.cell->base = base.cell;
  out.cell->seen = base.cell->version;
  out.cell->read = view.read;
  out.cell->write = view.write;
  out.cell->strides = view.strides;
  return out;
}

Visible Importer::visible() const {
  Visible out;
  std::function<void(const Value&)> add = [&](const Value& value) {
    if (value.cell) {
      out.tensors.insert(value.expr().get());
      for (const Cell* at = value.cell.get(); at; at = at->base.get()) out.cells.insert(at);
    }
    if (value.items && out.lists.insert(value.items.get()).second)
      for (const Value& item : *value.items) on_enough_stack([&] { add(item); });
  };
  if (scope_) scope_->for_each(add);
  return out;
}

void Importer::define_results(const Node& node, Values values, Scope& scope) {
  for (Value& value : values)
    if (value.cell) relay::typed(value.expr());  // what does not fit is this node's fault
  if (node.results.size() == 1 && values.size() != 1) {
    Value all = Value::of(std::move(values));
    return define_result(node.results[0], all, node, scope);
  }
  if (node.results.size() > 1 && values.size() == 1 && values[0].kind == Value::List) values = Values(*values[0].items);
  for (size_t i = 0; i < node.results.size(); ++i) {
    const Result& result = node.results[i];
    if (i < values.size()) define_result(result, std::move(values[i]), node, scope);
    else if (!result.name.empty()) scope.define(result.name, Value());
  }
}

void Importer::define_result(const Result& result, Value value, const Node& node, Scope& scope) {
  if (!result.is_list) {
    if (!result.name.empty()) scope.define(result.name, std::move(value));
    return;
  }
  if (value.kind != Value::List || value.items->size() != result.items.size())
    throw Error(ValueError) << node.op << ": it makes " << (value.kind == Value::List ? value.items->size() : 1)
                            << " values where the program has names for " << result.items.size();
  for (size_t i = 0; i < result.items.size(); ++i)
    on_enough_stack([&] { define_result(result.items[i], (*value.items)[i], node, scope); });
}

Values Importer::by_custom(const PackedFunc& convert, const Operation& operation) const {
  std::function<ObjectRef(const Value&)> object_of = [&](const Value& value) -> ObjectRef {
    if (value.cell) return value.expr();
    switch (value.kind) {
      case Value::Bool: return number_boxes.box_bool(value.integer != 0);
      case Value::Int: return number_boxes.box_int(value.integer);
      case Value::Float: return number_boxes.box_float(value.real);
      case Value::Text: return String(value.text);
      case Value::List: {
        Array<ObjectRef> out;
        for (const Value& item : *value.items) out.push_back(object_of(item));
        return out;
      }
      default: return nullptr;
    }
  };
  Array<ObjectRef> inputs, types;
  for (const auto& [_, value] : operation.args()) {
    inputs.push_back(object_of(value));
    constexpr const char* kTypes[] = {"", "", "bool", "int", "float", "str", "List", "Dict", "List", ""};
    types.push_back(value.is_tensor() ? String(operation.dtype(value.expr()).str()) : String(kTypes[value.kind]));
  }
  ObjectRef given = convert(inputs, types).to<ObjectRef>();
  std::function<Value(const ObjectRef&)> value_from = [&](const ObjectRef& object) -> Value {
    if (auto* array = object.as<ArrayNode>()) {
      std::vector<Value> items;
      for (const ObjectRef& item : array->items) items.push_back(value_from(item));
      return Value::of(std::move(items));
    }
    if (auto* number = object.as<IntImm>()) return Value::of(number->value);
    if (auto* real = object.as<FloatImm>()) return Value::of(real->value);
    Expr expr = downcast_or_null<Expr>(object);
    if (!expr) operation.invalid("the custom converter gives no Relay expression");
    Type type = relay::type_of(expr);
    auto* tuple = type.as<TupleType>();
    if (!tuple) return Value(expr);
    std::vector<Value> items;
    for (size_t i = 0; i < tuple->fields_.size(); ++i)
      items.push_back(Value(relay::make_get_item(expr, static_cast<int>(i))));
    return Value::of(std::move(items));
  };
  Value out = value_from(given);
  if (out.kind == Value::List && operation.node().results.size() > 1) return *out.items;
  return {out};
}

// ---- the whole ------------------------------------------------------------------------------------------------------

void Importer::reject(const Node& node, const Error& error, Scope& scope) {
  if (error.kind() != kFollowsUnsupported) {
    UnsupportedNode found;
    size_t colon = node.op.find("::");
    found.op = colon == std::string::npos ? node.op : node.op.substr(colon + 2);
    found.domain = colon == std::string::npos ? "" : node.op.substr(0, colon);
    found.node = node.label;
    unsupported_.add(std::move(found), error);
  }
  Value nothing;
  nothing.follows_unsupported = true;
  std::function<void(const Result&)> define = [&](const Result& result) {
    if (!result.name.empty()) scope.define(result.name, nothing);
    for (const Result& item : result.items) define(item);
  };
  for (const Result& result : node.results) define(result);
}

Survey survey_program(const Program& program, const ImportOptions& options) {
  Survey out;
  out.unsupported = without_converter(program, options);
  out.imported = Importer(program, options, &out.unsupported).run();
  return out;
}

Imported import_program(const Program& program, const ImportOptions& options) {
  if (std::vector<UnsupportedNode> missing = without_converter(program, options); !missing.empty()) {
    std::set<std::string> ops;
    for (const UnsupportedNode& node : missing) ops.insert(node.domain + "::" + node.op);
    Error error(OpNotImplemented);
    error << "The following operators are not implemented: [";
    bool is_first = true;
    for (const std::string& op : ops) error << (std::exchange(is_first, false) ? "'" : ", '") << op << "'";
    error << "]";
    throw error;
  }
  auto is_dynamic = [](const Input& input) {
    return std::any_of(input.shape.begin(), input.shape.end(), [](const auto& dim) { return dim.extent < 0; });
  };
  try {
    return Importer(program, options).run();
  } catch (const Error&) {
    if (std::none_of(program.inputs.begin(), program.inputs.end(), is_dynamic)) throw;
  }
  return Importer(program, options, nullptr, false).run();  // extents that disagree by name may agree in every run
}

}  // namespace tessera::torch
