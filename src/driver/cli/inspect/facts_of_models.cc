// Facts about models that are not compiled: ONNX files, Relay texts, saved modules.

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/stack.h"
#include "driver/cli/inspect/facts.h"
#include "frontend/load_model.h"
#include "frontend/onnx/importer.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/output_names.h"
#include "relay/type/type_of.h"
#include "relay/walk.h"
#include "runtime/archive/files.h"

namespace tessera::cli {
namespace {

using relay::Call;
using relay::Cost;
using relay::Expr;

std::vector<int64_t> extents_of(const Array<PrimExpr>& shape) {
  std::vector<int64_t> out;
  for (const PrimExpr& extent : shape) out.push_back(as_int(extent) ? *as_int(extent) : -1);
  return out;
}

TensorFact fact_of(const std::string& name, const Type& type) {
  auto* tensor = type.as<TensorTypeNode>();
  if (!tensor) return {name, type.defined() ? to_text(type) : "", false, {}};
  return {name, to_text(tensor->dtype), true, extents_of(tensor->shape)};
}

/// The numbers of rows by name, and what each costs, dearest first.
class Rows {
 public:
  OperatorFact& operator[](const std::string& name) {
    auto [it, is_new] = at_.try_emplace(name, rows_.size());
    if (is_new) rows_.push_back({name});
    return rows_[it->second];
  }
  std::vector<OperatorFact> sorted() && {
    std::stable_sort(rows_.begin(), rows_.end(), [](const OperatorFact& a, const OperatorFact& b) {
      return std::tuple(-a.cost.flops, -a.count, a.name) < std::tuple(-b.cost.flops, -b.count, b.name);
    });
    return std::move(rows_);
  }

 private:
  std::unordered_map<std::string, size_t> at_;
  std::vector<OperatorFact> rows_;
};

/// Calls `visit` with the operators that a run of the program calls, parts before the whole, and every other expression
/// with a null. What depends on constants alone is computed while compiling and left out.
template <class F>
void each_call(const Expr& root, F&& visit) {
  std::unordered_set<const Object*> constant;
  relay::post_order(root, [&](const Expr& expr) {
    bool has_parts = false, is_constant = true;
    relay::each_child(expr, [&](const Expr& part) {
      has_parts = true;
      is_constant = is_constant && (constant.count(part.get()) || part.as<OpNode>());
    });
    if (has_parts ? is_constant : expr.as<relay::Constant>() != nullptr) constant.insert(expr.get());
    auto* call = expr.as<Call>();
    bool runs = call && call->op.as<OpNode>() && !constant.count(expr.get());
    visit(expr, runs ? call : nullptr);
  });
}

void add_parameter(Facts* facts, int64_t elements, int64_t bytes) {
  facts->parameter_tensors += 1;
  facts->parameters += elements;
  facts->parameter_bytes += static_cast<uint64_t>(bytes);
}

void add_parameter(Facts* facts, const NDArray& tensor) {
  add_parameter(facts, tensor.size(), tensor.size() * static_cast<int64_t>(tensor.dtype().bytes()));
}

void add_unsupported(const std::vector<frontend::UnsupportedNode>& nodes, Facts* facts) {
  for (const frontend::UnsupportedNode& r : nodes)
    facts->unsupported.push_back({r.op, r.domain, r.node, r.reason, r.version, r.is_invalid, r.follows_another});
}

/// Of a file, or of all files in a folder.
uint64_t bytes_of(const std::string& path) {
  namespace fs = std::filesystem;
  if (!is_folder(path)) return fs::file_size(path);
  uint64_t out = 0;
  std::error_code problem;
  for (const auto& entry : fs::recursive_directory_iterator(path, problem))
    if (entry.is_regular_file(problem)) out += entry.file_size();
  return out;
}

// ---- ONNX -----------------------------------------------------------------------------------------------------------

std::string full_name(std::string_view op, std::string_view domain) {
  bool is_plain = domain.empty() || domain == "ai.onnx";
  return is_plain ? std::string(op) : std::string(domain) + "." + std::string(op);
}

/// Nodes and initializers of a graph and of those inside its nodes.
void count_nodes(const std::vector<onnx::Node>& nodes, Rows* rows) {
  for (const onnx::Node& node : nodes) {
    (*rows)[full_name(node.op, node.domain)].count += 1;
    for (const onnx::Attribute& attribute : node.attributes)
      for (const auto& graph : attribute.graphs) on_enough_stack([&] { count_nodes(graph->nodes, rows); });
  }
}

void count_initializers(const onnx::Graph& graph, Facts* facts) {
  auto add = [&](const onnx::Tensor& tensor, const std::vector<int64_t>& dims) {
    int64_t elements = 1;
    for (int64_t extent : dims)
      if (__builtin_mul_overflow(elements, extent, &elements)) elements = 0;
    int64_t bits = 0;
    try {
      bits = onnx::element_type(tensor.type).bits;
    } catch (const Error&) {  // strings and the like: their number counts, their size is not known
    }
    add_parameter(facts, elements, elements / 8 * bits + elements % 8 * bits / 8);
  };
  for (const onnx::Tensor& tensor : graph.initializers) add(tensor, tensor.dims);
  for (const onnx::SparseTensor& tensor : graph.sparse_initializers) add(tensor.values, tensor.dims);
  for (const onnx::Node& node : graph.nodes)
    for (const onnx::Attribute& attribute : node.attributes)
      for (const auto& inner : attribute.graphs) on_enough_stack([&] { count_initializers(*inner, facts); });
}

/// What the file says of an input or output.
TensorFact fact_of(const onnx::ValueInfo& info) {
  TensorFact out{std::string(info.name), onnx::element_name(info.type.element), info.type.has_shape, {}};
  if (info.type.kind != onnx::ValueType::Tensor) {
    constexpr const char* kinds[] = {"unknown", "tensor", "sequence", "map", "optional", "sparse tensor", "opaque"};
    out.dtype = kinds[info.type.kind];
    out.has_shape = false;
  }
  for (const onnx::Dimension& extent : info.type.shape) {
    out.shape.push_back(extent.kind == onnx::Dimension::Known && extent.value >= 0 ? extent.value : -1);
    out.extents.emplace_back(extent.kind == onnx::Dimension::Named ? extent.name : std::string_view());
  }
  return out;
}

/// The cost of each layer is that of the calls which no layer before it needs.
void add_costs(const onnx::Imported& imported, Rows* rows) {
  std::unordered_map<const Object*, const onnx::Layer*> layers;
  Array<Expr> values;
  for (const onnx::Layer& layer : imported.layers) {
    relay::type_of(layer.value);
    layers.try_emplace(layer.value.get(), &layer);
    values.push_back(layer.value);
  }
  relay::Tuple all;
  all.fields_ = values;
  Cost pending;
  each_call(make(std::move(all)), [&](const Expr& expr, const Call* call) {
    if (call && call->checked_type_.defined()) pending += relay::cost_of(call);
    auto it = layers.find(expr.get());
    if (it == layers.end()) return;
    (*rows)[full_name(it->second->op, it->second->domain)].cost += pending;
    pending = {};
  });
}

std::string versions_text(const onnx::Model& model) {
  std::string out;
  for (const onnx::OperatorSet& set : model.operator_sets)
    out += (out.empty() ? "" : ", ") + (set.domain.empty() ? "ai.onnx" : std::string(set.domain)) + " " +
           std::to_string(set.version);
  return out;
}

/// {"ai.onnx": 17}
JsonObject versions_of(const onnx::Model& model) {
  JsonObject out;
  for (const onnx::OperatorSet& set : model.operator_sets)
    out.set(String(set.domain.empty() ? "ai.onnx" : std::string(set.domain)), json_value(set.version));
  return out;
}

/// Types that the importer found replace those in the file.
void refine_types(const onnx::Imported& imported, Facts* facts) {
  auto* main = imported.mod.lookup("main").as<relay::FunctionNode>();
  for (TensorFact& input : facts->inputs)
    for (const relay::Var& param : main->params)
      if (param->name_hint() == input.name) {
        std::vector<std::string> names = std::move(input.extents);
        input = fact_of(input.name, param->type_annotation);
        input.extents = std::move(names);
      }
  Type type = relay::type_of(main->body);
  auto* tuple = type.as<TupleType>();
  for (size_t i = 0; i < facts->outputs.size(); ++i) {
    bool is_one = facts->outputs.size() == 1;
    if (!is_one && !(tuple && i < tuple->fields_.size())) return;
    TensorFact found = fact_of(facts->outputs[i].name, is_one ? type : tuple->fields_[i]);
    if (found.has_shape && found.shape.size() == facts->outputs[i].extents.size())
      found.extents = facts->outputs[i].extents;
    facts->outputs[i] = found;
  }
}

}  // namespace

Facts facts_of_onnx(const std::string& path, const std::string& input_shapes, const std::string& allow_links) {
  Facts out{.path = path, .format = "onnx", .file_bytes = std::filesystem::file_size(path)};
  onnx::Model model = onnx::read_model(path, allow_links);
  onnx::ImportOptions options;
  options.keep_layers = true;
  if (!input_shapes.empty()) options.shapes = parse_input_shapes(input_shapes);
  std::string producer(model.producer_name);
  if (!model.producer_version.empty()) producer += " " + std::string(model.producer_version);
  if (!producer.empty()) out.notes.emplace_back("producer", producer);
  out.note("opset", versions_text(model), versions_of(model));
  out.note("ir", std::to_string(model.ir_version), json_value(model.ir_version));
  if (!model.graph.name.empty()) out.notes.emplace_back("graph", model.graph.name);
  std::unordered_set<std::string_view> initialized;
  for (const onnx::Tensor& tensor : model.graph.initializers) initialized.insert(tensor.name);
  for (const onnx::ValueInfo& input : model.graph.inputs)
    if (!initialized.count(input.name)) out.inputs.push_back(fact_of(input));
  for (const onnx::ValueInfo& output : model.graph.outputs) out.outputs.push_back(fact_of(output));
  for (const auto& [name, _] : options.shapes)
    if (std::none_of(out.inputs.begin(), out.inputs.end(), [&](auto& input) { return input.name == name; }))
      throw Error(ValueError) << path << " has no input \"" << name << "\" to give a shape";
  count_initializers(model.graph, &out);

  Rows rows;
  count_nodes(model.graph.nodes, &rows);
  for (const onnx::Function& function : model.functions) count_nodes(function.nodes, &rows);
  onnx::Survey survey = onnx::survey_model(model, options);
  add_unsupported(survey.unsupported, &out);
  if (survey.unsupported.empty()) {
    add_costs(survey.imported, &rows);
    refine_types(survey.imported, &out);
    out.has_cost = true;
  }
  out.operators = std::move(rows).sorted();
  return out;
}

Facts facts_of_relay(const std::string& path, const std::string& format, const std::string& input_shapes) {
  Facts out{.path = path, .format = format, .file_bytes = bytes_of(path), .has_cost = true};
  std::vector<frontend::UnsupportedNode> unsupported;
  LoadOptions options{.format = format, .unsupported = &unsupported};
  if (!input_shapes.empty()) options.input_shapes = parse_input_shapes(input_shapes);
  LoadedModel model = load_model(path, options);
  if (!unsupported.empty()) {
    add_unsupported(unsupported, &out);
    out.has_cost = false;
    return out;
  }
  auto* main = model.mod.lookup("main").as<relay::FunctionNode>();
  for (const relay::Var& param : main->params)
    if (!model.params.count(param->name_hint()))
      out.inputs.push_back(fact_of(std::string(param->name_hint()), relay::checked_type(param)));
  for (const auto& [_, tensor] : model.params) add_parameter(&out, tensor);
  Type type = relay::checked_type(main->body);
  auto* tuple = type.as<TupleType>();
  std::vector<Type> types = tuple ? tuple->fields_.vec() : std::vector<Type>{type};
  std::vector<std::string> names = relay::output_names(main, types.size());
  for (size_t i = 0; i < types.size(); ++i) out.outputs.push_back(fact_of(names[i], types[i]));
  Rows rows;
  for (const auto& [_, function] : model.mod.sorted_functions()) {
    if (!function.as<relay::FunctionNode>()) continue;
    each_call(function, [&](const Expr& expr, const Call* call) {
      if (auto* constant = expr.as<relay::Constant>()) add_parameter(&out, constant->data);
      if (!call) return;
      OperatorFact& row = rows[call->op.as<OpNode>()->name.str()];
      row.count += 1;
      if (call->checked_type_.defined()) row.cost += relay::cost_of(call);
    });
  }
  out.operators = std::move(rows).sorted();
  return out;
}

}  // namespace tessera::cli
