#pragma once
// How a call may be computed on a target: implementations, and the strategies that offer them. kernel/implementation.h chooses.

#include "relay/expr.h"
#include "runtime/packed_func.h"
#include "te/schedule.h"
#include "te/specialize.h"

namespace tessera::relay {

/// One way to compute an operator. The one with the highest level is taken.
struct OpImplementationNode : Object {
  PackedFunc fcompute;   // (attrs, inputs, out_type) -> tensors
  PackedFunc fschedule;  // (attrs, outs, target) -> te.Schedule; empty: the rule of blocks of the target decides
  String name;
  int32_t plevel = 10;
  static constexpr NodeInfo info{"relay.OpImplementation", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("name", &OpImplementationNode::name);
    f("plevel", &OpImplementationNode::plevel);
  }
};
using OpImplementation = Ref<OpImplementationNode>;

/// Implementations that hold under a condition, or always.
struct OpSpecializationNode : Object {
  Array<OpImplementation> implementations;
  te::SpecializedCondition condition;
  static constexpr NodeInfo info{"relay.OpSpecialization", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("implementations", &OpSpecializationNode::implementations);
    f("condition", &OpSpecializationNode::condition, Optional);
  }
};
using OpSpecialization = Ref<OpSpecializationNode>;

/// All implementations of an operator for one call; filled in place.
struct OpStrategyNode : Object {
  Array<OpSpecialization> specializations;
  static constexpr NodeInfo info{"relay.OpStrategy", &Object::info, Role::Identity};
  static void fields(auto f) { f("specializations", &OpStrategyNode::specializations); }
};
using OpStrategy = Ref<OpStrategyNode>;

OpImplementation make_implementation(PackedFunc compute, PackedFunc schedule, String name, int plevel);
/// Adds an implementation under the condition that is in force. `schedule` may be empty.
void add_implementation(const OpStrategy& strategy, PackedFunc compute, PackedFunc schedule, String name, int plevel);

/// The slot of strategies: a GenericFunc or PackedFunc (attrs, inputs, out_type, target) -> OpStrategy.
inline constexpr const char* kStrategy = "FTVMStrategy";
/// The slot of TE schedules, for operators without a strategy: (attrs, outs, target) -> te.Schedule.
inline constexpr const char* kSchedule = "FTVMSchedule";

/// A slot for implementations beside an operator's own compute: (strategy, attrs, inputs, out_type, target) adds to it.
inline constexpr const char* kMoreImplementations = "TMoreImplementations";
/// A slot for what its strategy is called ("nms"), where that is not its name without "nn.", "vision." or "random.". Empty for
/// an operator whose compute only stands in for a pass: it has no strategy.
inline constexpr const char* kStrategyName = "TStrategyName";

}  // namespace tessera::relay
