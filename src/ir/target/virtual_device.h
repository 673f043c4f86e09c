#pragma once
// Where a value of a model lies, before it is known which machine the model will run on.

#include "base/map.h"
#include "ir/target/target.h"

namespace tessera {

/// A kind of device, which of them, the code it runs and which of its memories. What is -1 or empty is left open.
struct VirtualDeviceNode : Object {
  int32_t device_type_int = -1, virtual_device_id = -1;
  Target target;
  String memory_scope;
  static constexpr NodeInfo info{"VirtualDevice", &Object::info};
  static void fields(auto f) {
    f("device_type_int", &VirtualDeviceNode::device_type_int);
    f("virtual_device_id", &VirtualDeviceNode::virtual_device_id);
    f("target", &VirtualDeviceNode::target, Optional);
    f("memory_scope", &VirtualDeviceNode::memory_scope);
  }
};
using VirtualDevice = Ref<VirtualDeviceNode>;

VirtualDevice make_virtual_device(int device_type, int id = 0, Target target = nullptr, String memory_scope = "");
/// True when nothing is said.
bool is_open(const VirtualDeviceNode* device);
/// The default device of a target.
VirtualDevice device_of_target(const Target& target);

/// What holds for both; an empty reference where they contradict each other. An empty one is open in all.
VirtualDevice join(const VirtualDevice& a, const VirtualDevice& b);

/// The targets of a build, and where things are when nothing says so.
struct CompilationConfigNode : Object {
  Target host_target;
  Array<Target> primitive_targets;
  VirtualDevice host_virtual_device, default_primitive_virtual_device;
  Target optional_homogeneous_target;  // the only one, if it is
  static constexpr NodeInfo info{"CompilationConfig", &Object::info};
  static void fields(auto f) {
    f("host_target", &CompilationConfigNode::host_target);
    f("primitive_targets", &CompilationConfigNode::primitive_targets);
    f("host_virtual_device", &CompilationConfigNode::host_virtual_device);
    f("default_primitive_virtual_device", &CompilationConfigNode::default_primitive_virtual_device);
    f("optional_homogeneous_target", &CompilationConfigNode::optional_homogeneous_target, Optional);
  }
};
using CompilationConfig = Ref<CompilationConfigNode>;

/// True for a kind of target that only has options of an external code generator: no value lies on a device of its.
bool is_external(const TargetKind& kind);

/// Targets of external code generators are kept with the primitive ones, and decide nothing. Where several others are given, values are by default on a CPU, or on the kind of device that the option
/// "relay.fallback_device_type" of the current context names.
CompilationConfig make_compilation_config(const Array<Target>& targets, const Target& host);
/// The device with the target of the configuration that its type has, unless it names one.
VirtualDevice with_target(const CompilationConfig& config, const VirtualDevice& device);

}  // namespace tessera
