#include "frontend/graph/importer.h"

#include <algorithm>
#include <set>

#include "base/restore.h"
#include "base/stack.h"
#include "frontend/common/converted.h"
#include "frontend/common/parameters.h"
#include "ir/prim/ops.h"
#include "ir/span_scope.h"
#include "op/rules.h"
#include "relay/make.h"
#include "relay/output_names.h"
#include "relay/type/type_of.h"

namespace tessera::frontend {
namespace {

constexpr int kMaxDepth = 100;  // of graphs inside nodes
constexpr size_t kMaxInputRank = 64;

Type type_of_input(const GraphInput& input, const GraphOptions& options) {
  std::vector<int64_t> shape = input.shape;
  if (auto given = options.shapes.find(input.name); given != options.shapes.end()) shape = given->second;
  else if (!input.has_shape)
    throw Error(ValueError) << "the model does not say the shape of its input " << input.name << "; give it";
  auto dtype = options.dtypes.find(input.name);
  if (shape.size() > kMaxInputRank)
    throw Error(ValueError) << "the input " << input.name << " has " << shape.size() << " dimensions; at most "
                            << kMaxInputRank << " are supported";
  Array<PrimExpr> extents;
  for (int64_t extent : shape) {
    if (extent > INT32_MAX)
      throw Error(ValueError) << "the input " << input.name << " has a dimension of extent " << extent << "; at most "
                              << INT32_MAX << " is supported";
    extents.push_back(extent < 0 ? op::any_extent() : int_imm(DataType::Int(32), extent));
  }
  return TensorType(extents, dtype == options.dtypes.end() ? input.dtype : dtype->second);
}

void look_for_missing(const GraphModel& graph, const LayerTable& table, int depth, std::vector<UnsupportedNode>* out) {
  if (depth > kMaxDepth)
    throw Error(ValueError) << "graphs lie inside each other deeper than " << kMaxDepth << " levels";
  for (const GraphNode& node : graph.nodes) {
    for (const auto& inner : node.graphs) look_for_missing(*inner, table, depth + 1, out);
    if (!table.count(node.op)) out->push_back({node.op, "", node.name, 0, "the operator is not supported"});
  }
}

/// The value; an error where a rejected node makes it.
const Expr& known(const Expr& value, const std::string& name) {
  if (!value.defined()) throw Error(kFollowsUnsupported) << "the value \"" << name << "\" is not known";
  return value;
}

}  // namespace

Expr LayerNode::operator[](size_t i) const {
  if (!has(i)) invalid("input " + std::to_string(i) + " is missing");
  return inputs_[i];
}

Exprs LayerNode::slots(std::string_view name) const {
  Exprs out;
  for (size_t i = 0; i < inputs_.size() && i < node_.input_slots.size(); ++i)
    if (node_.input_slots[i] == name && inputs_[i].defined()) out.push_back(inputs_[i]);
  return out;
}

Expr LayerNode::slot(std::string_view name) const {
  Exprs all = slots(name);
  if (all.size() == 1) return all[0];
  invalid("it has " + std::to_string(all.size()) + " inputs " + std::string(name) + ", not one");
}

Exprs LayerNode::results(const std::vector<std::pair<std::string, Exprs>>& by_slot) const {
  Exprs out(node_.outputs.size());
  for (const auto& [name, values] : by_slot) {
    size_t next = 0;
    for (size_t i = 0; i < out.size() && i < node_.output_slots.size(); ++i)
      if (node_.output_slots[i] == name && next < values.size()) out[i] = values[next++];
  }
  return out;
}

Expr LayerNode::weight(size_t i) const {
  if (!has_weight(i)) invalid("weight " + std::to_string(i) + " is missing");
  return importer_.param(node_.weights[i]);
}

Ints LayerNode::integers(std::string_view name, size_t count, int64_t otherwise) const {
  Ints out = fields().integers(name, std::vector<int64_t>(count, otherwise));
  if (out.size() == 1) out = Ints(count, out[0]);
  if (out.size() != count)
    invalid("\"" + std::string(name) + "\" has " + std::to_string(out.size()) + " numbers, not " +
            std::to_string(count));
  return out;
}

LayerTable table_of(std::initializer_list<LayerRows (*)()> families) {
  LayerTable out;
  for (auto family : families)
    for (LayerRow& row : family()) out[row.op] = row.convert;
  return out;
}

Expr GraphImporter::param(const std::string& name) {
  if (auto known = params_.find(name); known != params_.end()) return known->second;
  auto found = model_.params.find(name);
  if (found == model_.params.end()) throw Error(ValueError) << "the model has no values of the parameter " << name;
  Expr out = relay::make_constant(found->second);
  // A few integers are axes or shapes, which converters must know.
  constexpr int64_t kMaxKnown = 64;
  const bool is_known = found->second.dtype().is_integral() && found->second.size() <= kMaxKnown;
  if (!options_.freeze_params && !is_known) {
    relay::Var var = relay::make_local(String(name), relay::type_of(out));
    param_vars_.push_back(var);
    param_values_.set(String(name), found->second);
    out = var;
  }
  params_.emplace(name, out);
  return out;
}

const Expr& GraphImporter::value_of(const std::string& name, Values& values) {
  if (const Expr* known = values.find_or_null(name)) return *known;
  if (auto found = model_.params.find(name); found != model_.params.end()) {
    values.define(found->first, param(name));
    return values.find(name);
  }
  return values.find(name);  // an error
}

Exprs GraphImporter::convert(const GraphNode& node, const LayerConverter& converter, Exprs inputs) {
  LayerNode layer(*this, node, std::move(inputs));
  return converter(layer);
}

void GraphImporter::import_nodes(const GraphModel& graph, Values& values) {
  for (const GraphNode& node : graph.nodes) {
    if (++num_nodes_ > options_.most_nodes)
      throw Error(ValueError) << "with its loops written out, the model has more than " << options_.most_nodes
                              << " nodes";
    auto converter = table_.find(node.op);
    try {
      Exprs inputs;
      for (const std::string& name : node.inputs) {
        inputs.push_back(name.empty() ? Expr(nullptr) : known(value_of(name, values), name));
      }
      if (converter == table_.end()) throw Error(kFollowsUnsupported) << "no converter, which is listed beforehand";
      SpanScope span(node_span(node.name.empty() ? node.op : node.name));
      Restore<const Values*> inside(scope_, &values);
      const LayerNode layer(*this, node, {});
      Exprs outputs = converted(
          layer, [&] { return on_enough_stack([&] { return convert(node, converter->second, std::move(inputs)); }); });
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].empty()) continue;
        if (i >= outputs.size() || !outputs[i].defined())
          throw Error(OpNotImplemented) << node.op << ": output "
                                        << (i < node.output_slots.size() ? node.output_slots[i] : std::to_string(i))
                                        << " is not supported";
        values.define(node.outputs[i], relay::typed(outputs[i]));
      }
    } catch (Error& error) {
      if (unsupported_) {
        for (const std::string& name : node.outputs) values.define(name, Expr(nullptr));
        if (error.kind() == kFollowsUnsupported) continue;
        UnsupportedNode found;
        found.op = node.op, found.node = node.name;
        unsupported_.add(std::move(found), error);
        continue;
      }
      error << "\n  in node " << node.op << (node.name.empty() ? "" : " " + node.name);
      throw;
    }
  }
}

Exprs GraphImporter::import_graph(const GraphModel& graph, const Exprs& inputs) {
  if (depth_ >= kMaxDepth)
    throw Error(ValueError) << "graphs lie inside each other deeper than " << kMaxDepth << " levels";
  if (inputs.size() != graph.inputs.size())
    throw Error(ValueError) << "a graph inside a node takes " << graph.inputs.size() << " values and is given "
                            << inputs.size();
  Restore<int> level(depth_, depth_ + 1);
  Values values(scope_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined())
      throw Error(ValueError) << "a graph inside a node is not given its input " << graph.inputs[i].name;
    values.define(graph.inputs[i].name, inputs[i]);
  }
  import_nodes(graph, values);
  Exprs out;
  for (const std::string& name : graph.outputs) out.push_back(known(value_of(name, values), name));
  return out;
}

std::unordered_set<const Object*> GraphImporter::visible() const {
  std::unordered_set<const Object*> out;
  if (scope_)
    scope_->for_each([&](const Expr& value) {
      if (value.defined()) out.insert(value.get());
    });
  return out;
}

void GraphImporter::check_names() const {
  std::string known;
  for (const GraphInput& input : model_.inputs) known += (known.empty() ? "" : ", ") + input.name;
  for (const auto& [name, shape] : options_.shapes)
    if (std::none_of(model_.inputs.begin(), model_.inputs.end(), [&](auto& input) { return input.name == name; }) &&
        std::count(model_.unused_inputs.begin(), model_.unused_inputs.end(), name) == 0)
      throw Error(ValueError) << "the model has no input \"" << name << "\" to give a shape; its inputs are " << known;
}

Imported GraphImporter::run() {
  check_names();
  Values values(nullptr);
  Array<relay::Var> inputs;
  for (const GraphInput& input : model_.inputs) {
    relay::Var var = relay::make_local(String(input.name), type_of_input(input, options_));
    inputs.push_back(var);
    values.define(input.name, relay::typed(entering(input, var)));
  }
  import_nodes(model_, values);
  Imported out;
  if (unsupported_ && !unsupported_.empty()) return out;
  Array<Expr> results;
  Array<String> names;
  for (const std::string& name : model_.outputs) {
    results.push_back(leaving(value_of(name, values)));
    names.push_back(String(name));
  }
  if (results.empty()) throw Error(ValueError) << "the model has no outputs";
  Expr body = results.size() == 1 ? results[0] : relay::make_tuple(results);
  for (const relay::Var& var : param_vars_) inputs.push_back(var);
  out.mod = module_of_main(inputs, body, DictAttrs().with(relay::kOutputNames, names));
  out.params = param_values_;
  return out;
}

std::vector<UnsupportedNode> without_converter(const GraphModel& model, const LayerTable& table) {
  std::vector<UnsupportedNode> out;
  look_for_missing(model, table, 0, &out);
  return out;
}

void reject_missing(const GraphModel& model, const LayerTable& table, std::vector<UnsupportedNode>* unsupported) {
  std::vector<UnsupportedNode> missing = without_converter(model, table);
  if (unsupported) *unsupported = missing;
  if (missing.empty() || unsupported) return;
  std::set<std::string> names;
  for (const UnsupportedNode& node : missing) names.insert(node.op);
  Error error(OpNotImplemented);
  error << "The following operators are not supported for frontend " << model.framework << ": ";
  for (auto it = names.begin(); it != names.end(); ++it) error << (it == names.begin() ? "" : ", ") << *it;
  for (const UnsupportedNode& node : missing)
    if (names.erase(node.op)) error << "\n  in node " << node.op << " " << node.node;
  throw error;
}

Imported import_graph_model(const GraphModel& model, const LayerTable& table, const GraphOptions& options,
                            std::vector<UnsupportedNode>* unsupported) {
  reject_missing(model, table, unsupported);
  return GraphImporter(model, table, options, unsupported).run();
}

}  // namespace tessera::frontend
