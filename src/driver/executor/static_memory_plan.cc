#include "driver/executor/static_memory_plan.h"

#include "driver/executor/graph_codegen.h"
#include "driver/executor/memory_plan.h"
#include "ir/prim/ops.h"
#include "kernel/workload.h"
#include "relay/inspect.h"

namespace tessera::relay {
namespace {

Array<ObjectRef> numbers(const std::vector<uint64_t>& values) {
  std::vector<ObjectRef> out;
  for (uint64_t value : values) out.push_back(int_imm(DataType::Int(64), static_cast<int64_t>(value)));
  return Array<ObjectRef>(out);
}

int64_t number(const ObjectRef& value) {
  auto* constant = value.as<IntImm>();
  if (!constant) throw Error(TypeError) << "StorageInfo: a device type is a number, not " << value->type_key();
  return constant->value;
}

class GraphPlan {
 public:
  StaticMemoryPlan run(const Function& function) {
    for (const Var& param : function->params) make_values(param, true);
    visit(function->body);
    for (uint32_t value : tensors_.at(function->body.get())) values_[value].last_use = UINT32_MAX;
    const std::vector<uint32_t> storage = plan_memory(values_).storage;
    StaticMemoryPlanNode plan;
    for (const Expr& expr : order_) plan.expr_to_storage_info.set(expr, info(tensors_.at(expr.get()), storage));
    return make(std::move(plan));
  }

 private:
  StorageInfo info(const std::vector<uint32_t>& tensors, const std::vector<uint32_t>& storage) const {
    StorageInfoNode out;
    std::vector<uint64_t> ids, sizes;
    std::vector<VirtualDevice> devices;
    for (uint32_t value : tensors) {
      ids.push_back(storage[value]);
      sizes.push_back(values_[value].bytes);
      devices.push_back(devices_[value]);
    }
    out.storage_ids = numbers(ids);
    out.storage_sizes_in_bytes = numbers(sizes);
    out.virtual_devices = Array<VirtualDevice>(devices);
    return make(std::move(out));
  }

  static std::vector<Expr> operands(const Expr& expr) {
    if (auto* call = expr.as<Call>()) return {call->args.begin(), call->args.end()};
    if (auto* tuple = expr.as<Tuple>()) return {tuple->fields_.begin(), tuple->fields_.end()};
    if (auto* field = expr.as<TupleGetItem>()) return {field->tuple};
    return {};
  }

  enum class Stage { Enter, Bind, Leave };

  /// Every expression after its operands; programs may be long chains, so without recursion.
  void visit(const Expr& root) {
    std::vector<std::pair<Expr, Stage>> todo{{root, Stage::Enter}};
    while (!todo.empty()) {
      auto [expr, stage] = todo.back();
      todo.pop_back();
      if (tensors_.contains(expr.get())) continue;
      auto* let = expr.as<Let>();
      if (stage == Stage::Leave) {
        finish(expr);
      } else if (stage == Stage::Bind) {
        note(let->var, tensors_.at(let->value.get()));
        todo.emplace_back(expr, Stage::Leave);
        todo.emplace_back(let->body, Stage::Enter);
      } else if (let) {
        todo.emplace_back(expr, Stage::Bind);
        todo.emplace_back(let->value, Stage::Enter);
      } else {
        todo.emplace_back(expr, Stage::Leave);
        const std::vector<Expr> inside = operands(expr);
        for (size_t i = inside.size(); i-- > 0;) todo.emplace_back(inside[i], Stage::Enter);
      }
    }
  }

  void finish(const Expr& expr) {
    if (auto* let = expr.as<Let>()) return note(expr, tensors_.at(let->body.get()));
    if (auto* tuple = expr.as<Tuple>()) {
      std::vector<uint32_t> all;
      for (const Expr& field : tuple->fields_)
        all.insert(all.end(), tensors_.at(field.get()).begin(), tensors_.at(field.get()).end());
      return note(expr, all);
    }
    if (auto* field = expr.as<TupleGetItem>()) {
      const std::vector<uint32_t>& all = tensors_.at(field->tuple.get());
      const auto [first, last] = kernel::tensors_of_field(checked_type(field->tuple).as<TupleType>(), field->index);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      return note(expr, {begin, all.begin() + static_cast<std::ptrdiff_t>(last)});
    }
    if (auto* call = expr.as<Call>()) {
      ++step_;
      for (const Expr& arg : call->args)
        for (uint32_t value : tensors_.at(arg.get())) values_[value].last_use = step_;
      return make_values(expr, false);
    }
    if (expr.as<Constant>()) return make_values(expr, true);
    throw Error(TypeError) << "GraphPlanMemory plans calls, tuples, lets and constants of first-order functions, not "
                           << expr->type_key();
  }

  void note(const Expr& expr, std::vector<uint32_t> tensors) {
    order_.push_back(expr);
    tensors_[expr.get()] = std::move(tensors);
  }

  void make_values(const Expr& expr, bool stays) {
    auto* placed = expr->virtual_device_.as<VirtualDeviceNode>();
    const bool known = placed && placed->device_type_int >= 0;
    const VirtualDevice device = known ? VirtualDevice(placed) : make_virtual_device(kDLCPU);
    std::vector<uint32_t> made;
    for (const TensorType& type : kernel::tensors_of(checked_type(expr))) {
      PlannedValue value;
      value.bytes = tensor_bytes(fixed_shape(type), type->dtype);
      value.made_at = value.last_use = step_;
      value.device_type = device->device_type_int;
      value.stays = stays;
      made.push_back(static_cast<uint32_t>(values_.size()));
      values_.push_back(value);
      devices_.push_back(device);
    }
    note(expr, made);
  }

  std::unordered_map<const Object*, std::vector<uint32_t>> tensors_;  // of each expression, by index of values_
  std::vector<Expr> order_;
  std::vector<PlannedValue> values_;
  std::vector<VirtualDevice> devices_;
  uint32_t step_ = 0;
};

}  // namespace

StaticMemoryPlan graph_plan_memory(const Function& function) { return GraphPlan().run(function); }

static register_types<StorageInfoNode, StaticMemoryPlanNode> static_memory_plan_types;

static Globals static_memory_plan_globals{
    {"relay.backend.GraphPlanMemory", graph_plan_memory},
    {"relay.ir.StorageInfo",
     [](Array<ObjectRef> ids, Array<ObjectRef> device_types, Array<ObjectRef> sizes) {
       StorageInfoNode info;
       std::vector<VirtualDevice> devices;
       for (const ObjectRef& type : device_types)
         devices.push_back(make_virtual_device(static_cast<int>(number(type))));
       info.storage_ids = ids;
       info.virtual_devices = Array<VirtualDevice>(devices);
       info.storage_sizes_in_bytes = sizes;
       return make(std::move(info));
     }},
    {"relay.ir.StorageInfoStorageIds", [](StorageInfo info) { return info->storage_ids; }},
    {"relay.ir.StorageInfoVirtualDevices", [](StorageInfo info) { return info->virtual_devices; }},
    {"relay.ir.StorageInfoStorageSizes", [](StorageInfo info) { return info->storage_sizes_in_bytes; }},
    {"relay.ir.StaticMemoryPlan",
     [](Map<Expr, StorageInfo> infos) {
       StaticMemoryPlanNode plan;
       plan.expr_to_storage_info = infos;
       return make(std::move(plan));
     }},
};

}  // namespace tessera::relay
