#include "ir/target/virtual_device.h"

#include "ir/pass/pass.h"
#include "ir/structural/equal.h"
#include "runtime/device.h"
#include "runtime/registry.h"

namespace tessera {

VirtualDevice make_virtual_device(int device_type, int id, Target target, String memory_scope) {
  VirtualDeviceNode node;
  node.device_type_int = device_type;
  node.virtual_device_id = id;
  node.target = std::move(target);
  node.memory_scope = std::move(memory_scope);
  return make(std::move(node));
}

bool is_open(const VirtualDeviceNode* device) {
  return device->device_type_int < 0 && device->virtual_device_id < 0 && !device->target &&
         device->memory_scope.empty();
}

VirtualDevice device_of_target(const Target& target) {
  return make_virtual_device(target->kind->default_device_type, 0, target);
}

VirtualDevice join(const VirtualDevice& a, const VirtualDevice& b) {
  if (!a || !b || a.same_as(b)) return a ? a : b;
  auto number = [](int x, int y) { return x < 0 ? y : x; };
  bool clash =
      (a->device_type_int >= 0 && b->device_type_int >= 0 && a->device_type_int != b->device_type_int) ||
      (a->virtual_device_id >= 0 && b->virtual_device_id >= 0 && a->virtual_device_id != b->virtual_device_id) ||
      (a->target && b->target && !structural_equal(a->target, b->target)) ||
      (!a->memory_scope.empty() && !b->memory_scope.empty() && a->memory_scope != b->memory_scope);
  if (clash) return nullptr;
  return make_virtual_device(number(a->device_type_int, b->device_type_int),
                             number(a->virtual_device_id, b->virtual_device_id), a->target ? a->target : b->target,
                             a->memory_scope.empty() ? b->memory_scope : a->memory_scope);
}

CompilationConfig make_compilation_config(const Array<Target>& all, const Target& host) {
  Array<Target> targets;  // whose code runs kernels of ours
  for (const Target& target : all)
    if (!is_external(target->kind)) targets.push_back(target);
  if (targets.empty() && !all.empty()) targets.push_back(all[0]);
  if (targets.empty()) throw Error(ValueError) << "a compilation needs at least one target";
  CompilationConfigNode out;
  out.primitive_targets = all;
  out.host_target = host;
  for (const Target& target : targets) {
    if (!out.host_target && target->host.defined()) out.host_target = downcast<Target>(target->host);
    if (!out.host_target && target->kind->default_device_type == kDLCPU) out.host_target = target;
  }
  if (!out.host_target) out.host_target = Target::parse("llvm");
  out.host_virtual_device = device_of_target(out.host_target);
  Target chosen = targets[0];
  if (targets.size() == 1) {
    out.optional_homogeneous_target = chosen;
  } else {
    int64_t fallback = kDLCPU;
    if (ObjectRef given = PassContext::current().get_config("relay.fallback_device_type"))
      fallback = Any::of_object(given.get()).to<int64_t>();
    for (const Target& target : targets)
      if (target->kind->default_device_type == fallback) chosen = target;
  }
  out.default_primitive_virtual_device = device_of_target(chosen);
  return make(std::move(out));
}

VirtualDevice with_target(const CompilationConfig& config, const VirtualDevice& device) {
  if (!device || device->target || device->device_type_int < 0) return device;
  for (const Target& target : config->primitive_targets)
    if (target->kind->default_device_type == device->device_type_int && !is_external(target->kind))
      return make_virtual_device(device->device_type_int, std::max(device->virtual_device_id, 0), target,
                                 device->memory_scope);
  if (config->host_target->kind->default_device_type == device->device_type_int)
    return make_virtual_device(device->device_type_int, std::max(device->virtual_device_id, 0), config->host_target,
                               device->memory_scope);
  throw Error(ValueError) << "something is to be on " << device_type_name(device->device_type_int)
                          << ", but none of the targets is for such a device";
}

static ConfigKeys keys{config_int("relay.fallback_device_type")};

static register_types<VirtualDeviceNode, CompilationConfigNode> virtual_device_types;

static Globals virtual_device_globals{
    {"target.VirtualDevice_ForDeviceTargetAndMemoryScope",
     [](DLDevice device, Target target, String scope) {
       return make_virtual_device(device.device_type, device.device_id, target, scope);
     }},
    {"target.MakeCompilationConfig", make_compilation_config},
};

}  // namespace tessera
