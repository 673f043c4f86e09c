#include "driver/executor/graph_codegen.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/stack.h"
#include "driver/executor/graph_json.h"
#include "driver/executor/memory_plan.h"
#include "driver/tuned_programs.h"
#include "ir/prim/ops.h"
#include "relay/attrs/annotation.h"
#include "relay/output_names.h"
#include "runtime/package/model_names.h"

namespace tessera::relay {

std::vector<int64_t> fixed_shape(const TensorType& type) {
  std::vector<int64_t> shape;
  for (const PrimExpr& extent : type->shape) {
    const int64_t* value = as_int(extent);
    if (!value)
      throw Error(ValueError) << "the graph executor needs fixed shapes, but a value has the type " << to_text(type)
                              << "; use the virtual machine";
    shape.push_back(*value);
  }
  return shape;
}

namespace {

/// A value of the graph: output `index` of node `node`.
struct ValueId {
  uint32_t node, index;
};
using ValueIds = std::vector<ValueId>;

struct GraphNode {
  std::string name, function;  // no function: an input
  ValueIds inputs;
  std::vector<TensorType> types;
  VirtualDevice device;
  Map<String, ObjectRef> labels;  // what LabelOps wrote on the function
};

uint64_t bytes_of(const TensorType& type) { return tensor_bytes(fixed_shape(type), type->dtype); }

class GraphBuilder {
 public:
  GraphBuilder(CompilationConfig config, const kernel::CompileEnvironment& environment, const std::string& model_name)
      : config_(std::move(config)),
        kernels_("tvmgen_" + model_name, environment,
                 config_->optional_homogeneous_target ? kernel::CachedKernels(environment) : kernel::CachedKernels(),
                 config_->primitive_targets) {}

  GraphProgram build(const FunctionNode* main) {
    for (const Var& param : main->params) input_names_.insert(std::string(param->name_hint()));
    for (const Var& param : main->params) values_[param.get()] = {input(std::string(param->name_hint()), param)};
    ValueIds results = (*this)(main->body);
    kernels_.schedule();
    GraphProgram out;
    out.json = graph_text(describe(results, main));
    out.params = params_;
    out.kernels = kernels_.finish();
    out.devices = memory_use(results);
    return out;
  }

 private:
  ValueIds operator()(const Expr& expr) {
    if (auto it = values_.find(expr.get()); it != values_.end()) return it->second;
    ValueIds out = on_enough_stack([&] { return visit(expr); });
    values_.insert_or_assign(expr.get(), out);
    return out;
  }

  VirtualDevice device_of(const Expr& expr) const {
    VirtualDevice known = downcast_or_null<VirtualDevice>(expr->virtual_device_);
    return known && known->target ? known : config_->default_primitive_virtual_device;
  }

  ValueId input(const std::string& name, const Expr& value) {
    GraphNode node;
    node.name = name;
    node.types = {tensor_type(value)};
    node.device = device_of(value);
    nodes_.push_back(std::move(node));
    return {static_cast<uint32_t>(nodes_.size() - 1), 0};
  }

  /// "p3", or the next that no input of the model is called.
  std::string param_name() {
    std::string name;
    do name = "p" + std::to_string(next_param_++);
    while (input_names_.count(name));
    return name;
  }

  ValueIds visit(const Expr& expr) {
    if (auto* call = expr.as<Call>()) return call_kernel(call);
    if (auto* constant = expr.as<Constant>()) {
      std::string name = param_name();
      params_.set(String(name), constant->data);
      return {input(name, expr)};
    }
    if (auto* tuple = expr.as<Tuple>()) {
      ValueIds out;
      for (const Expr& field : tuple->fields_)
        for (ValueId value : (*this)(field)) out.push_back(value);
      return out;
    }
    if (auto* get = expr.as<TupleGetItem>()) {
      auto [first, last] = kernel::tensors_of_field(checked_type(get->tuple).as<TupleType>(), get->index);
      ValueIds all = (*this)(get->tuple);
      return {all.begin() + static_cast<long>(first), all.begin() + static_cast<long>(last)};
    }
    if (expr.as<Let>()) {
      Expr at = expr;
      while (auto* let = at.as<Let>()) {
        values_[let->var.get()] = (*this)(let->value);
        at = let->body;
      }
      return (*this)(at);
    }
    if (auto* var = expr.as<VarNode>())
      throw Error(ValueError) << "the variable %" << var->name_hint() << " is not bound";
    throw Error(ValueError) << "the graph executor cannot run a " << expr->type_key()
                            << "; use the virtual machine (relay.vm) for control flow, closures and data types";
  }

  /// A copy of each tensor of a value to where the call is.
  ValueIds copy_between_devices(const Call* call) {
    ValueIds out;
    for (ValueId value : (*this)(call->args[0])) {
      GraphNode node;
      node.function = "__copy";
      node.name = node_names_.fresh("__copy");
      node.inputs = {value};
      node.types = {nodes_[value.node].types[value.index]};
      node.device = device_of(Expr(call));
      nodes_.push_back(std::move(node));
      out.push_back({static_cast<uint32_t>(nodes_.size() - 1), 0});
    }
    return out;
  }

  ValueIds call_kernel(const Call* call) {
    if (call->attrs.as<DeviceCopyAttrs>()) return copy_between_devices(call);
    auto* function = call->op.as<FunctionNode>();
    if (function && function->attrs.has(attr::kPrimitive) && !function->attrs.is_true(attr::kPrimitive)) {
      for (size_t i = 0; i < function->params.size(); ++i)  // what FuseOps makes of tuples that nothing computes
        values_[function->params[i].get()] = (*this)(call->args[i]);
      return (*this)(function->body);
    }
    if (!function || !function->attrs.is_true(attr::kPrimitive))
      throw Error(ValueError) << "the graph executor calls fused functions only, but the module calls a "
                              << call->op->type_key() << "; run FuseOps, or use the virtual machine";
    GraphNode node;
    for (const Expr& arg : call->args)
      for (ValueId value : (*this)(arg)) node.inputs.push_back(value);
    node.types = kernel::tensors_of(checked_type(Expr(call)));
    node.device = device_of(Expr(call));
    for (const auto& [key, value] : function->attrs->dict)
      if (key == "hash" || key.str().ends_with("layout")) node.labels.set(key, value);
    if (std::string nodes = kernel::source_nodes(Function(function)); !nodes.empty())
      node.labels.set(kSourceNodes, String(nodes));
    if (function->attrs.is_true(attr::kReshapeOnly) && node.inputs.size() == 1) {
      node.function = "__nop";
      node.name = "reshape_nop";
    } else {
      node.function = kernels_.add(Function(function), node.device->target);
      node.name = node_names_.fresh(node.function);
    }
    nodes_.push_back(std::move(node));
    ValueIds out;
    for (uint32_t i = 0; i < nodes_.back().types.size(); ++i)
      out.push_back({static_cast<uint32_t>(nodes_.size() - 1), i});
    return out;
  }

  /// The storage of every value, those of a reshape being its input's.
  std::vector<uint32_t> storages(const std::vector<uint32_t>& first_entry, const ValueIds& results) {
    std::vector<uint32_t> owner(first_entry.back());
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      for (uint32_t i = first_entry[n]; i < first_entry[n + 1]; ++i)
        owner[i] = nodes_[n].function == "__nop" ? owner[entry(nodes_[n].inputs[0], first_entry)] : i;
    std::vector<PlannedValue> values(first_entry.back());
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      for (uint32_t i = 0; i < nodes_[n].types.size(); ++i) {
        PlannedValue& value = values[first_entry[n] + i];
        value.bytes = bytes_of(nodes_[n].types[i]);
        value.made_at = value.last_use = n;
        value.device_type = nodes_[n].device->device_type_int;
        value.stays = nodes_[n].function.empty();
      }
      for (ValueId input : nodes_[n].inputs) values[owner[entry(input, first_entry)]].last_use = n;
    }
    for (ValueId result : results) values[owner[entry(result, first_entry)]].last_use = UINT32_MAX;
    std::vector<PlannedValue> owners;
    std::vector<uint32_t> index_of(values.size());
    for (uint32_t i = 0; i < values.size(); ++i)
      if (owner[i] == i) index_of[i] = static_cast<uint32_t>(owners.size()), owners.push_back(values[i]);
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      for (auto [input, output] : replaceable(n, owner, first_entry))
        owners[index_of[output]].may_replace.push_back(index_of[input]);
    std::vector<uint32_t> planned = plan_memory(owners).storage, out(values.size());
    for (uint32_t i = 0; i < values.size(); ++i) out[i] = planned[index_of[owner[i]]];
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      for (auto [input, output] : replaceable(n, owner, first_entry))
        if (out[input] == out[output]) kernels_.allow_overlap(nodes_[n].function);
    return out;
  }

  /// Values that a node reads once and may write over: (what is read, what is made). Kernels for other devices than the
  /// host are compiled as if parameters never overlapped.
  std::vector<std::pair<uint32_t, uint32_t>> replaceable(uint32_t n, const std::vector<uint32_t>& owner,
                                                         const std::vector<uint32_t>& first_entry) {
    const GraphNode& node = nodes_[n];
    std::vector<std::pair<uint32_t, uint32_t>> out;
    if (node.device->device_type_int != kDLCPU || !is_kernel(node)) return out;
    for (kernel::InPlace pair : kernels_.in_place(node.function)) {
      if (pair.input >= node.inputs.size() || pair.output < node.inputs.size()) continue;
      uint32_t read = owner[entry(node.inputs[pair.input], first_entry)];
      auto is_it = [&](ValueId input) { return owner[entry(input, first_entry)] == read; };
      if (std::count_if(node.inputs.begin(), node.inputs.end(), is_it) != 1) continue;
      out.emplace_back(read, first_entry[n] + pair.output - static_cast<uint32_t>(node.inputs.size()));
    }
    return out;
  }

  static bool is_kernel(const GraphNode& node) {
    return !node.function.empty() && node.function != "__nop" && node.function != "__copy";
  }

  static uint32_t entry(ValueId value, const std::vector<uint32_t>& first_entry) {
    return first_entry[value.node] + value.index;
  }

  /// What the values take on each target. Of a storage that a result shares with other values, all is counted.
  std::vector<DeviceUse> memory_use(const ValueIds& results) {
    std::vector<DeviceUse> out;
    auto use_on = [&](const Target& target) -> DeviceUse& {
      for (DeviceUse& use : out)
        if (use.target.same_as(target)) return use;
      out.push_back({target});
      return out.back();
    };
    use_on(config_->default_primitive_virtual_device->target);
    std::vector<bool> is_result;
    for (const GraphNode& node : nodes_) is_result.resize(is_result.size() + node.types.size());
    std::vector<uint32_t> first_entry;
    for (uint32_t n = 0, at = 0; n < nodes_.size(); at += static_cast<uint32_t>(nodes_[n++].types.size()))
      first_entry.push_back(at);
    for (ValueId result : results) {
      is_result[entry(result, first_entry)] = true;
      use_on(nodes_[result.node].device->target).io_bytes += bytes_of(nodes_[result.node].types[result.index]);
    }
    std::map<uint32_t, uint64_t> bytes;  // of storages of which something is neither input nor result
    std::map<uint32_t, Target> targets;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      for (uint32_t i = 0; i < nodes_[n].types.size(); ++i) {
        uint32_t at = first_entry[n] + i;
        uint64_t size = bytes_of(nodes_[n].types[i]);
        if (nodes_[n].function.empty()) {
          DeviceUse& use = use_on(nodes_[n].device->target);
          (params_.count(String(nodes_[n].name)) ? use.constant_bytes : use.io_bytes) += size;
        } else {
          uint64_t& most = bytes[storages_[at]];
          most = std::max(most, size);
          if (!is_result[at]) targets.emplace(storages_[at], nodes_[n].device->target);
        }
      }
    }
    for (const auto& [storage, target] : targets) use_on(target).intermediate_bytes += bytes[storage];
    return out;
  }

  // ---- the JSON form of v0.10 ------------------------------------------------------------------------------

  static ObjectRef number(int64_t value) { return int_imm(DataType::Int(64), value); }
  static ObjectRef triple(ValueId id) { return Array<ObjectRef>{number(id.node), number(id.index), number(0)}; }
  static ObjectRef typed_list(const char* kind, Array<ObjectRef> items) {
    return Array<ObjectRef>{String(kind), std::move(items)};
  }

  ObjectRef describe(const ValueIds& results, const FunctionNode* main) {
    std::vector<uint32_t> first_entry;
    uint32_t entries = 0;
    for (const GraphNode& node : nodes_) {
      first_entry.push_back(entries);
      entries += static_cast<uint32_t>(node.types.size());
    }
    first_entry.push_back(entries);
    Array<ObjectRef> nodes, inputs, heads, rows, dtypes, shapes, storage, devices;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].function.empty()) inputs.push_back(number(n));
      nodes.push_back(describe(nodes_[n]));
      for (const TensorType& type : nodes_[n].types) {
        dtypes.push_back(String(to_text(type->dtype)));
        Array<ObjectRef> shape;
        for (int64_t extent : fixed_shape(type)) shape.push_back(number(extent));
        shapes.push_back(shape);
        devices.push_back(number(nodes_[n].device->device_type_int));
      }
    }
    for (ValueId result : results) heads.push_back(triple(result));
    for (uint32_t first : first_entry) rows.push_back(number(first));
    storages_ = storages(first_entry, results);
    for (uint32_t id : storages_) storage.push_back(number(id));
    Map<String, ObjectRef> attrs{{"dltype", typed_list("list_str", dtypes)},
                                 {"device_index", typed_list("list_int", devices)},
                                 {"storage_id", typed_list("list_int", storage)},
                                 {"shape", typed_list("list_shape", shapes)}};
    if (main->attrs.has(kOutputNames)) {  // v0.10 knows no such attribute: only models that have names carry it
      Array<ObjectRef> names;
      for (const std::string& name : output_names(main, results.size())) names.push_back(String(name));
      attrs.set("output_names", typed_list("list_str", names));
    }
    return Map<String, ObjectRef>{
        {"nodes", nodes}, {"arg_nodes", inputs}, {"heads", heads}, {"attrs", attrs}, {"node_row_ptr", rows},
    };
  }

  ObjectRef describe(const GraphNode& node) const {
    Array<ObjectRef> inputs;
    for (ValueId id : node.inputs) inputs.push_back(triple(id));
    Map<String, ObjectRef> out{{"op", String(node.function.empty() ? "null" : "tvm_op")}, {"name", String(node.name)}};
    if (!node.function.empty()) {
      Map<String, ObjectRef> attrs{{"num_outputs", String(std::to_string(node.types.size()))},
                                   {"num_inputs", String(std::to_string(node.inputs.size()))},
                                   {"flatten_data", String("0")},
                                   {"func_name", String(node.function)}};
      for (const auto& [key, value] : node.labels) attrs.set(key, value);
      if (is_kernel(node) && node.labels.count(kSourceNodes))  // other graphs are to the letter those of v0.10
        attrs.set(kScheduleRules, String(kernels_.rule(node.function)));
      out.set("attrs", attrs);
    }
    out.set("inputs", inputs);
    return out;
  }

  CompilationConfig config_;
  kernel::KernelTable kernels_;
  std::vector<uint32_t> storages_;  // of every value, once the graph is described
  std::vector<GraphNode> nodes_;
  NameSupply node_names_;
  std::unordered_set<std::string> input_names_;
  size_t next_param_ = 0;
  Map<String, NDArray> params_;
  std::unordered_map<const Object*, ValueIds> values_;
};

}  // namespace

GraphProgram compile_graph(const Function& main, const CompilationConfig& config, const PassContext& passes,
                           const std::string& model_name) {
  Target target = config->default_primitive_virtual_device->target;
  auto environment = compile_environment(target, config->host_target, passes);
  return GraphBuilder(config, environment, model_name).build(main.get());
}

}  // namespace tessera::relay
