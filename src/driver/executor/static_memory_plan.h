#pragma once
// The memory plan of a function by its expressions, as programs of users ask for it.

#include "ir/target/virtual_device.h"
#include "relay/expr.h"

namespace tessera::relay {

/// Where the tensors of an expression lie: of each its storage, device and bytes.
struct StorageInfoNode : Object {
  Array<ObjectRef> storage_ids;
  Array<VirtualDevice> virtual_devices;
  Array<ObjectRef> storage_sizes_in_bytes;
  static constexpr NodeInfo info{"relay.StorageInfo", &Object::info};
  static void fields(auto f) {
    f("storage_ids", &StorageInfoNode::storage_ids);
    f("virtual_devices", &StorageInfoNode::virtual_devices);
    f("storage_sizes_in_bytes", &StorageInfoNode::storage_sizes_in_bytes);
  }
};
using StorageInfo = Ref<StorageInfoNode>;

struct StaticMemoryPlanNode : Object {
  Map<Expr, StorageInfo> expr_to_storage_info;
  static constexpr NodeInfo info{"relay.StaticMemoryPlan", &Object::info};
  static void fields(auto f) { f("expr_to_storage_info", &StaticMemoryPlanNode::expr_to_storage_info); }
};
using StaticMemoryPlan = Ref<StaticMemoryPlanNode>;

/// Plans the calls of a typed first-order function, in graph or let form, one after the other. Parameters and constants have
/// storages of their own; no call writes over what it reads.
StaticMemoryPlan graph_plan_memory(const Function& function);

}  // namespace tessera::relay
