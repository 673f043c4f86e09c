#include "frontend/tensorflow/importer.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/stack.h"
#include "frontend/common/converted.h"
#include "frontend/common/parameters.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/control.h"
#include "ir/prim/ops.h"
#include "ir/span_scope.h"
#include "op/rules.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/output_names.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

TensorName parse_name(std::string_view text) {
  TensorName out;
  if (text.starts_with("^")) {
    out.is_control = true;
    text.remove_prefix(1);
  }
  auto take = [&] {
    size_t colon = text.find(':');
    std::string_view part = text.substr(0, colon);
    text = colon == text.npos ? std::string_view() : text.substr(colon + 1);
    return part;
  };
  out.node = take();
  while (!text.empty()) {
    std::string_view part = take();
    int64_t number = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size() && number >= 0 && number < 1'000'000)
      out.index = number;
    else out.output = part;
  }
  return out;
}

bool is_structural(std::string_view op) {
  static const std::set<std::string_view> ops{
      "Enter",   "Exit",     "LoopCond",         "Merge",     "Placeholder", "RefEnter",
      "RefExit", "RefMerge", "RefNextIteration", "RefSwitch", "Switch"};
  return ops.count(op) > 0;
}

namespace {

constexpr int kMaxCalls = 100;
constexpr int64_t kMaxNodes = 2'000'000;  // with functions and loops written out

/// Nodes of a graph or of a function, by name.
struct Body {
  std::unordered_map<std::string_view, const NodeDef*> nodes;
  const FunctionDef* function = nullptr;
  bool has_effects = false;

  explicit Body(const std::vector<NodeDef>& list) {
    for (const NodeDef& node : list) {
      nodes.emplace(node.name, &node);
      has_effects |= node.op.starts_with("Assign");
    }
  }
};

/// One run of a body: values of its nodes. Inside of a loop of TensorFlow 1 a scope of its own.
struct Scope {
  const Body& body;
  Scope* outer = nullptr;  // around a loop of TensorFlow 1
  std::string_view frame;  // its name
  std::unordered_map<std::string_view, Values> values;
  std::unordered_map<std::string_view, Values> frames;  // results of loops, by their names
  std::set<std::string_view> converting;                // nodes whose results ask for those of others just now
};

/// The branches that a tensor is computed in: the predicate and which way it goes.
using Branches = std::vector<std::pair<std::string, bool>>;

class Importer : public Importing {
 public:
  Importer(const GraphDef& graph, const ImportOptions& options, std::vector<UnsupportedNode>* unsupported)
      : graph_(graph), options_(options), unsupported_(unsupported), main_(graph.nodes) {
    for (const auto& [name, function] : graph.functions) {
      Body body(function.nodes);
      body.function = &function;
      bodies_.emplace(name, std::move(body));
    }
  }

  Imported run();
  /// Nodes that the outputs need and no converter takes, also in functions.
  std::vector<UnsupportedNode> without_converter() const;

  Values call(const std::string& name, const Values& inputs) override;
  std::unordered_set<const Object*> visible_tensors() const override {
    std::unordered_set<const Object*> out;
    auto add = [&](const Value& value) {
      if (value.tensor.defined()) out.insert(value.tensor.get());
      if (value.list && value.list->stacked.defined()) out.insert(value.list->stacked.get());
    };
    for (const Scope* scope : scopes_)
      for (const Scope* one = scope; one; one = one->outer)
        for (const auto& [name, values] : one->values)
          for (const Value& value : values) add(value);
    return out;
  }
  Value read_variable(const NodeContext& in, const std::string& name) override {
    auto it = variables_.find(name);
    if (it != variables_.end()) return it->second;
    if (!options_.variable)
      in.unsupported("the variable " + name + " has no value: the graph must be frozen, or given with its SavedModel");
    Value value = relay::make_constant(options_.variable(name));
    constants_.emplace_back(name, value.tensor);
    return variables_[name] = value;
  }
  void assign_variable(const NodeContext&, const std::string& name, Value value) override {
    variables_[name] = std::move(value);
  }
  const std::string& target_layout() const override { return options_.layout; }

 private:
  /// The wanted tensors: those of the last node where none are named.
  std::vector<std::string> outputs() const;
  const NodeDef& node_of(const Scope& scope, std::string_view name) const {
    auto it = scope.body.nodes.find(name);
    if (it == scope.body.nodes.end())
      throw Error(ValueError) << "the graph uses the node \"" << std::string(name) << "\", which it does not have";
    return *it->second;
  }
  /// All results of a node.
  const Values& results(Scope& scope, std::string_view name);
  Value tensor(Scope& scope, const TensorName& name);
  Values convert(Scope& scope, const NodeDef& node);
  Value placeholder(const NodeDef& node);
  /// Nodes that must be imported before this one, as far as they are not.
  std::vector<std::string_view> missing_inputs(Scope& scope, const NodeDef& node);

  // Control flow of TensorFlow 1; see the end of the file.
  Scope& scope_of_enter(Scope& scope, const NodeDef& node);
  Value exit(Scope& scope, const NodeDef& node);
  Values merge(Scope& scope, const NodeDef& node);
  const Branches& branches(Scope& scope, std::string_view name, int depth = 0);
  Branches branches_of_input(Scope& scope, std::string_view input, int depth);
  const NodeDef* behind_identities(const Scope& scope, std::string_view input) const;

  const GraphDef& graph_;
  const ImportOptions& options_;
  void reject(const NodeDef& node, const Error& error);

  UnsupportedNodes unsupported_;  // false: the first error ends the import
  Body main_;
  std::unordered_map<std::string_view, Body> bodies_;
  std::unordered_map<std::string, Value> variables_;
  std::unordered_map<const NodeDef*, Value> constant_nodes_;
  std::vector<std::pair<std::string, Expr>> constants_;  // of the file, by the names of their nodes
  std::unordered_map<std::string, relay::Var> placeholders_;
  std::vector<std::string> placeholder_order_;
  std::vector<Scope*> scopes_;
  std::map<std::pair<const Body*, std::string_view>, Branches> branches_;
  int depth_ = 0;
  int64_t num_nodes_ = 0;
};

struct Level {
  Level(int& depth, const char* what) : depth(++depth) {
    if (depth > kMaxCalls)
      throw Error(ValueError) << what << " of the graph lie deeper in each other than " << kMaxCalls << " levels";
  }
  ~Level() { --depth; }
  int& depth;
};

template <class T>
struct Pushed {
  Pushed(std::vector<T>& list, T value) : list(list) { list.push_back(value); }
  ~Pushed() { list.pop_back(); }
  std::vector<T>& list;
};

bool is_one_of(std::string_view op, std::string_view name) {
  return op == name || (op.starts_with("Ref") && op.substr(3) == name);
}

/// Whether a node is reached only for its effect.
bool follows_control(const Body& body) { return body.has_effects; }

std::vector<std::string_view> Importer::missing_inputs(Scope& scope, const NodeDef& node) {
  std::vector<std::string_view> out;
  // These decide by themselves which of their inputs are imported, and in which scope.
  if (is_structural(node.op)) return out;
  for (std::string_view input : node.inputs) {
    TensorName name = parse_name(input);
    if (name.is_control && !follows_control(scope.body)) continue;
    if (!scope.values.count(name.node)) out.push_back(name.node);
  }
  return out;
}

const Values& Importer::results(Scope& scope, std::string_view name) {
  if (auto it = scope.values.find(name); it != scope.values.end()) return it->second;
  Pushed<Scope*> pushed(scopes_, &scope);
  std::vector<std::string_view> waiting{name};
  std::set<std::string_view> open;  // nodes whose inputs are being imported
  while (!waiting.empty()) {
    std::string_view current = waiting.back();
    if (scope.values.count(current)) {
      waiting.pop_back();
      continue;
    }
    const NodeDef& node = node_of(scope, current);
    std::vector<std::string_view> missing = missing_inputs(scope, node);
    if (!missing.empty()) {
      if (!open.insert(current).second)
        throw Error(ValueError) << "the graph has a cycle through the node \"" << std::string(current) << "\"";
      waiting.insert(waiting.end(), missing.rbegin(), missing.rend());
      continue;
    }
    waiting.pop_back();
    if (++num_nodes_ > kMaxNodes)
      throw Error(ValueError) << "with its functions and loops written out, the graph has more than " << kMaxNodes
                              << " nodes";
    if (!scope.converting.insert(node.name).second)  // around an edge that only loops have
      throw Error(ValueError) << "the graph has a cycle through the node \"" << std::string(node.name) << "\"";
    struct Done {
      ~Done() { nodes.erase(name); }
      std::set<std::string_view>& nodes;
      std::string_view name;
    } done{scope.converting, node.name};
    try {
      Values values = on_enough_stack([&] { return convert(scope, node); });
      for (const Value& value : values)
        if (value.tensor.defined()) relay::typed(value.tensor);  // what does not fit is this node's fault
      scope.values[node.name] = std::move(values);
    } catch (Error& error) {
      if (unsupported_) {
        reject(node, error);
        Value nothing;
        nothing.is_rejected = true;
        scope.values[node.name] = {nothing};
        continue;
      }
      if (error.message().find("\n  in node ") == std::string::npos)
        error << "\n  in node " << std::string(node.op) << " " << std::string(node.name);
      throw;
    }
  }
  return scope.values.at(name);
}

Value Importer::tensor(Scope& scope, const TensorName& name) {
  const Values& values = results(scope, name.node);
  if (values.size() == 1 && values[0].is_rejected)
    throw Error(kFollowsUnsupported) << "the node \"" << std::string(name.node) << "\" is not known";
  size_t index = static_cast<size_t>(name.index);
  if (!name.output.empty()) {  // in a function, by the name of the result
    auto node = scope.body.nodes.find(name.node);
    if (const Row* row = node == scope.body.nodes.end() ? nullptr : find_row(node->second->op))
      for (size_t i = 0; i < row->outputs.size(); ++i)
        if (row->outputs[i] == name.output) index += i;
    if (node != scope.body.nodes.end() && is_one_of(node->second->op, "Switch") && name.output == "output_true")
      index += 1;
    if (node != scope.body.nodes.end() && is_one_of(node->second->op, "Merge") && name.output == "value_index")
      index += 1;
  }
  if (index >= values.size())
    throw Error(OpNotImplemented) << "result " << index << " of the node \"" << std::string(name.node)
                                  << "\" is not supported";
  return values[index];
}

Value Importer::placeholder(const NodeDef& node) {
  const std::string name(node.name);
  Attributes attributes = parse_attributes(node);
  auto given = options_.shapes.find(name);
  std::optional<std::vector<int64_t>> extents;
  if (given != options_.shapes.end()) extents = given->second;
  else if (auto it = attributes.find("shape"); it != attributes.end()) extents = it->second.shape;
  if (!extents)
    throw Error(ValueError) << "the number of dimensions of the input " << name
                            << " is not in the graph; give its shape";
  const DataType dtype =
      attributes.count("dtype") && attributes["dtype"].type ? *attributes["dtype"].type : DataType::Void();
  if (dtype.is_void())
    throw Error(OpNotImplemented) << "the input " << name << " is of a type that tensors do not have here";
  constexpr size_t kMaxDimensions = 64;
  if (extents->size() > kMaxDimensions)
    throw Error(ValueError) << "the input " << name << " has " << extents->size() << " dimensions";
  Array<PrimExpr> shape;
  for (int64_t extent : *extents) {
    if (extent > INT32_MAX) throw Error(ValueError) << "the input " << name << " has a dimension of extent " << extent;
    shape.push_back(extent < 0 ? op::any_extent() : int_imm(DataType::Int(32), extent));
  }
  auto [it, is_new] = placeholders_.try_emplace(name);
  if (is_new) {
    it->second = relay::make_local(String(name), TensorType(shape, dtype));
    placeholder_order_.push_back(name);
  }
  return Expr(it->second);
}

Values Importer::convert(Scope& scope, const NodeDef& node) {
  if (node.op == "Placeholder") return {placeholder(node)};
  if (is_one_of(node.op, "Enter")) {
    if (node.inputs.empty()) throw Error(ValueError) << "an Enter without an input";
    return {tensor(scope_of_enter(scope, node), parse_name(node.inputs[0]))};
  }
  if (is_one_of(node.op, "Exit")) return {exit(scope, node)};
  if (is_one_of(node.op, "Merge")) return merge(scope, node);
  if (is_one_of(node.op, "Switch")) {
    if (node.inputs.empty()) throw Error(ValueError) << "a Switch without an input";
    Value value = tensor(scope, parse_name(node.inputs[0]));
    return {value, value};
  }
  if (node.op == "LoopCond")
    return {tensor(scope, parse_name(node.inputs.empty() ? std::string_view() : node.inputs[0]))};
  if (node.op == "Const")
    if (auto it = constant_nodes_.find(&node); it != constant_nodes_.end()) return {it->second};
  SpanScope span(node_span(std::string(node.name)));
  Values inputs;
  for (std::string_view input : node.inputs) {
    TensorName name = parse_name(input);
    if (name.is_control) {
      if (follows_control(scope.body)) results(scope, name.node);
      continue;
    }
    inputs.push_back(tensor(scope, name));
  }
  const Row* row = find_row(node.op);
  if (!row && graph_.functions.count(node.op)) return call(std::string(node.op), inputs);
  if (!row && unsupported_) throw Error(kFollowsUnsupported) << "no converter, which is listed beforehand";
  if (!row) throw Error(OpNotImplemented) << "the operator " << std::string(node.op) << " is not supported";
  Operation operation(*this, std::string(node.op), std::string(node.name), std::move(inputs), parse_attributes(node),
                      0);
  Values out = frontend::converted(operation, [&] { return row->convert(operation); });
  if (node.op == "Const" && !out.empty()) {
    constant_nodes_[&node] = out[0];
    if (out[0].tensor.defined()) constants_.emplace_back(std::string(node.name), out[0].tensor);
  }
  return out;
}

Values Importer::call(const std::string& name, const Values& inputs) {
  auto it = bodies_.find(name);
  if (it == bodies_.end())
    throw Error(ValueError) << "the graph calls the function \"" << name << "\", which it does not have";
  const Body& body = it->second;
  Level level(depth_, "functions");
  Scope scope{body, nullptr, {}, {}, {}};
  const FunctionDef& function = *body.function;
  if (inputs.size() < function.inputs.size())
    throw Error(ValueError) << "the function \"" << name << "\" takes " << function.inputs.size() << " inputs, not "
                            << inputs.size();
  for (size_t i = 0; i < function.inputs.size(); ++i) scope.values[function.inputs[i]] = {inputs[i]};
  return on_enough_stack([&] {
    if (body.has_effects)
      for (const NodeDef& node : function.nodes)
        if (node.op.starts_with("Assign")) results(scope, node.name);
    Values out;
    for (std::string_view output : function.outputs) {
      auto result = function.results.find(output);
      if (result == function.results.end())
        throw Error(ValueError) << "the function \"" << name << "\" does not say what its output "
                                << std::string(output) << " is";
      out.push_back(tensor(scope, parse_name(result->second)));
    }
    return out;
  });
}

// ---- the whole ------------------------------------------------------------------------------------------------------

std::vector<std::string> Importer::outputs() const {
  if (!options_.outputs.empty()) return options_.outputs;
  return {std::string(graph_.nodes.back().name)};
}

std::vector<UnsupportedNode> Importer::without_converter() const {
  std::vector<UnsupportedNode> out;
  std::set<std::pair<const Body*, std::string_view>> seen;
  std::vector<std::pair<const Body*, std::string_view>> waiting;
  const std::vector<std::string> wanted = outputs();
  for (const std::string& output : wanted) waiting.emplace_back(&main_, parse_name(output).node);
  while (!waiting.empty()) {
    auto [current, name] = waiting.back();
    waiting.pop_back();
    auto it = current->nodes.find(name);
    if (it == current->nodes.end() || !seen.insert({current, name}).second) continue;
    const NodeDef& node = *it->second;
    const bool is_call = graph_.functions.count(node.op) > 0;
    if (!is_call && !find_row(node.op) && !is_structural(node.op)) {
      UnsupportedNode found;
      found.op = node.op;
      found.node = node.name;
      found.reason = "the operator is not supported";
      out.push_back(found);
    }
    for (std::string_view input : node.inputs) {
      TensorName from = parse_name(input);
      if (!from.is_control || follows_control(*current)) waiting.emplace_back(current, from.node);
    }
    auto enter = [&](std::string_view function) {
      auto inner = bodies_.find(function);
      if (inner == bodies_.end()) return;
      for (const auto& [_, result] : inner->second.function->results)
        waiting.emplace_back(&inner->second, parse_name(result).node);
    };
    if (is_call) enter(node.op);
    for (const auto& [key, attribute] : parse_attributes(node)) {
      if (attribute.s) enter(*attribute.s);
      if (attribute.list)
        for (const Attribute& item : *attribute.list)
          if (item.s) enter(*item.s);
    }
  }
  return out;
}

void Importer::reject(const NodeDef& node, const Error& error) {
  if (error.kind() == kFollowsUnsupported) return;
  UnsupportedNode found;
  found.op = node.op;
  found.node = node.name;
  unsupported_.add(std::move(found), error);
}

[[noreturn]] void reject_all(const std::vector<UnsupportedNode>& found) {
  std::set<std::string> names;
  for (const UnsupportedNode& node : found) names.insert(node.op);
  Error error(OpNotImplemented);
  error << "The following operators are not implemented: ";
  for (auto it = names.begin(); it != names.end(); ++it) error << (it == names.begin() ? "" : ", ") << *it;
  for (const UnsupportedNode& node : found)
    if (names.erase(node.op)) error << "\n  in node " << node.op << " " << node.node;
  throw error;
}

Imported Importer::run() {
  const std::vector<std::string> outputs = this->outputs();
  const bool takes_last = options_.outputs.empty();
  if (!unsupported_)
    if (std::vector<UnsupportedNode> found = without_converter(); !found.empty()) reject_all(found);
  Scope scope{main_, nullptr, {}, {}, {}};
  Array<Expr> results_of;
  Array<String> names;
  auto add = [&](const Value& value, const std::string& name) {
    Expr out = value.list ? stacked(Operation(*this, "output", name, {}, {}, 0), *value.list) : value.tensor;
    if (!out.defined()) throw Error(OpNotImplemented) << "the output " << name << " is no tensor";
    results_of.push_back(out);
    names.push_back(String(name));
  };
  for (const std::string& output : outputs) {
    TensorName name = parse_name(output);
    if (unsupported_) results(scope, name.node);
    if (unsupported_ && !unsupported_.empty()) continue;
    if (takes_last) {
      const Values& all = results(scope, name.node);
      for (size_t i = 0; i < all.size(); ++i) add(all[i], all.size() == 1 ? output : output + ":" + std::to_string(i));
    } else {
      add(tensor(scope, name), output);
    }
  }
  if (unsupported_ && !unsupported_.empty()) return {};
  if (results_of.empty())
    throw Error(ValueError) << "the node \"" << outputs[0] << "\" has no results; name the outputs";
  Imported out;
  Expr body = results_of.size() == 1 ? results_of[0] : relay::make_tuple(results_of);
  Array<relay::Var> params;
  std::set<std::string> taken;
  auto add_input = [&](const std::string& name) {
    auto it = placeholders_.find(name);
    if (it != placeholders_.end() && taken.insert(name).second) params.push_back(it->second);
  };
  for (const std::string& name : options_.inputs) add_input(name);
  for (const NodeDef& node : graph_.nodes)
    if (node.op == "Placeholder") add_input(std::string(node.name));
  for (const std::string& name : placeholder_order_) add_input(name);
  if (!options_.freeze_params) body = with_parameters(body, constants_, &params, &out.params);
  out.mod = module_of_main(params, body, DictAttrs().with(relay::kOutputNames, names));
  return out;
}

// ---- control flow of TensorFlow 1 -----------------------------------------------------------------------------------

/// What an Enter takes its input from: the scope around the loop that it enters.
Scope& Importer::scope_of_enter(Scope& scope, const NodeDef& node) {
  Attributes attributes = parse_attributes(node);
  auto frame = attributes.find("frame_name");
  if (frame == attributes.end() || !frame->second.s) throw Error(ValueError) << "an Enter that does not name its loop";
  for (Scope* one = &scope; one && one->outer; one = one->outer)
    if (one->frame == *frame->second.s) return *one->outer;
  return scope;
}

const NodeDef* Importer::behind_identities(const Scope& scope, std::string_view input) const {
  for (int i = 0; i < 100; ++i) {
    auto it = scope.body.nodes.find(parse_name(input).node);
    if (it == scope.body.nodes.end()) return nullptr;
    if (it->second->op != "Identity" || it->second->inputs.empty()) return it->second;
    input = it->second->inputs[0];
  }
  return nullptr;
}

/// One variable of a loop.
struct LoopVariable {
  const NodeDef *enter, *merge, *next;
};

Value Importer::exit(Scope& scope, const NodeDef& node) {
  auto fail = [&](const char* what) {
    throw Error(ValueError) << "the loop that ends in \"" << std::string(node.name) << "\" " << what;
  };
  const NodeDef* way_out = node.inputs.empty() ? nullptr : behind_identities(scope, node.inputs[0]);
  if (!way_out || !is_one_of(way_out->op, "Switch") || way_out->inputs.size() < 2) fail("has no Switch before it");
  const NodeDef* merge = behind_identities(scope, way_out->inputs[0]);
  const NodeDef* decides = behind_identities(scope, way_out->inputs[1]);
  if (!merge || !is_one_of(merge->op, "Merge")) fail("has no Merge");
  if (!decides || decides->op != "LoopCond" || decides->inputs.empty()) fail("has no LoopCond");
  auto enter_of = [&](const NodeDef& one) -> const NodeDef* {
    if (one.inputs.size() < 2) return nullptr;
    const NodeDef* enter = behind_identities(scope, one.inputs[0]);
    return enter && is_one_of(enter->op, "Enter") && !enter->inputs.empty() ? enter : nullptr;
  };
  auto frame_of = [&](const NodeDef& enter) {
    Attributes attributes = parse_attributes(enter);
    auto it = attributes.find("frame_name");
    return it == attributes.end() ? std::string() : it->second.s.value_or("");
  };
  const NodeDef* own_enter = enter_of(*merge);
  if (!own_enter) fail("has no Enter");
  const std::string frame = frame_of(*own_enter);
  std::vector<LoopVariable> variables;
  size_t own = SIZE_MAX;
  for (const auto& [name, one] : scope.body.nodes) {
    if (!is_one_of(one->op, "Merge")) continue;
    const NodeDef* enter = enter_of(*one);
    if (!enter || frame_of(*enter) != frame) continue;
    auto next = scope.body.nodes.find(parse_name(one->inputs[1]).node);
    if (next == scope.body.nodes.end() || !is_one_of(next->second->op, "NextIteration") || next->second->inputs.empty())
      fail("has a variable without NextIteration");
    variables.push_back({enter, one, next->second});
  }
  std::sort(variables.begin(), variables.end(),
            [](const LoopVariable& a, const LoopVariable& b) { return a.merge->name < b.merge->name; });
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].merge == merge) own = i;
  if (own == SIZE_MAX) fail("has no variables");
  if (auto known = scope.frames.find(variables[0].merge->name); known != scope.frames.end())
    return known->second.at(own);
  Level level(depth_, "loops");
  Values initial;
  for (const LoopVariable& variable : variables)
    initial.push_back(tensor(scope_of_enter(scope, *variable.enter), parse_name(variable.enter->inputs[0])));
  auto inside = [&](const Values& states, auto&& use) {
    Scope inner{scope.body, &scope, frame, {}, {}};
    for (size_t i = 0; i < variables.size(); ++i)
      inner.values[variables[i].merge->name] = {states[i], Value(relay::make_scalar(0, DataType::Int(32)))};
    Pushed<Scope*> pushed(scopes_, &inner);
    return use(inner);
  };
  Operation operation(*this, "While", frame, {}, {}, 0);
  Values out = while_loop(
      operation, initial,
      [&](const Values& states) {
        return inside(states, [&](Scope& inner) {
          Value truth = tensor(inner, parse_name(decides->inputs[0]));
          if (!truth.tensor.defined()) operation.invalid("its condition is no tensor");
          return as_truth(operation, truth.tensor);
        });
      },
      [&](const Values& states) {
        return inside(states, [&](Scope& inner) {
          Values next;
          for (const LoopVariable& variable : variables)
            next.push_back(tensor(inner, parse_name(variable.next->inputs[0])));
          return next;
        });
      });
  scope.frames[variables[0].merge->name] = out;
  return out.at(own);
}

Branches Importer::branches_of_input(Scope& scope, std::string_view input, int depth) {
  TensorName name = parse_name(input);
  auto it = scope.body.nodes.find(name.node);
  if (it == scope.body.nodes.end()) return {};
  const NodeDef& node = *it->second;
  Branches out = branches(scope, name.node, depth + 1);
  if (!is_one_of(node.op, "Switch") || node.inputs.size() < 2) return out;
  const NodeDef* decides = behind_identities(scope, node.inputs[1]);
  if (decides && decides->op == "LoopCond") return out;
  const bool is_yes = name.index == 1 || name.output == "output_true";
  TensorName predicate = parse_name(node.inputs[1]);
  const NodeDef* source = behind_identities(scope, node.inputs[1]);
  std::string key = source ? std::string(source->name) + ":" +
                                 std::to_string(source == scope.body.nodes.at(predicate.node) ? predicate.index : 0)
                           : std::string(node.inputs[1]);
  // A branch within the same one adds nothing.
  if (std::find(out.begin(), out.end(), std::pair(key, is_yes)) == out.end()) out.emplace_back(key, is_yes);
  return out;
}

const Branches& Importer::branches(Scope& scope, std::string_view name, int depth) {
  auto [it, is_new] = branches_.try_emplace({&scope.body, name});
  if (!is_new) return it->second;
  const NodeDef& node = node_of(scope, name);
  Branches longest;
  for (std::string_view input : node.inputs) {
    const NodeDef* from = behind_identities(scope, input);
    if (from && is_one_of(from->op, "NextIteration")) continue;
    Branches one = on_enough_stack([&] { return branches_of_input(scope, input, depth); });
    if (one.size() > longest.size()) longest = std::move(one);
  }
  const bool enters = is_one_of(node.op, "Merge") && !node.inputs.empty() && [&] {
    const NodeDef* first = behind_identities(scope, node.inputs[0]);
    return first && is_one_of(first->op, "Enter");
  }();
  if (is_one_of(node.op, "Merge") && !enters && !longest.empty()) longest.pop_back();
  return branches_[{&scope.body, name}] = std::move(longest);
}

Values Importer::merge(Scope& scope, const NodeDef& node) {
  if (node.inputs.size() < 2) throw Error(ValueError) << "a Merge has two inputs";
  Branches of[2] = {branches_of_input(scope, node.inputs[0], 0), branches_of_input(scope, node.inputs[1], 0)};
  const size_t deeper = of[1].size() > of[0].size() ? 1 : 0;
  if (of[deeper].empty()) throw Error(OpNotImplemented) << "a Merge whose branches no Switch decides";
  const auto [predicate, is_yes] = of[deeper].back();
  const size_t yes = is_yes ? deeper : 1 - deeper;
  Value condition = tensor(scope, parse_name(predicate));
  Operation operation(*this, "Merge", std::string(node.name), {}, {}, 0);
  if (!condition.tensor.defined()) operation.invalid("its condition is no tensor");
  auto take = [&](size_t i) { return [&, i] { return Values{tensor(scope, parse_name(node.inputs[i]))}; }; };
  Values out = choose_branch(operation, condition.tensor, take(yes), take(1 - yes));
  Expr index = relay::cast(as_truth(operation, condition.tensor), DataType::Int(32));
  out.push_back(Value(yes == 1 ? index : relay::subtract(relay::make_scalar(1, DataType::Int(32)), index)));
  return out;
}

}  // namespace

Imported import_graph(const GraphDef& graph, const ImportOptions& options) {
  return Importer(graph, options, nullptr).run();
}

Survey survey_graph(const GraphDef& graph, const ImportOptions& options) {
  Survey out;
  out.unsupported = Importer(graph, options, nullptr).without_converter();
  out.imported = Importer(graph, options, &out.unsupported).run();
  return out;
}

}  // namespace tessera::tensorflow
