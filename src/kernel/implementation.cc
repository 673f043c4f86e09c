#include "kernel/implementation.h"

#include "arith/analyzer.h"
#include "ir/target/generic_func.h"
#include "relay/graph_environment.h"
#include "relay/slots.h"
#include "runtime/registry.h"

namespace tessera::kernel {

using relay::OpImplementation;
using relay::OpSpecialization;
using relay::OpStrategy;

namespace {

/// The tensors of a call, and how they were made.
struct LoweredOutputNode : Object {
  Array<te::Tensor> outputs;
  OpImplementation implementation;
  static constexpr NodeInfo info{"relay.LoweredOutput", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("outputs", &LoweredOutputNode::outputs);
    f("implementation", &LoweredOutputNode::implementation);
  }
};
using LoweredOutput = Ref<LoweredOutputNode>;

register_types<LoweredOutputNode> implementation_types;

using Tensors = Array<te::Tensor>;

/// Runs what an operator gave; an error in it says which operator that was.
template <class F>
auto naming(const Op& op, const std::string& what, F run) {
  try {
    return run();
  } catch (const Error& error) {
    std::string begin = op->name.str() + ": ";
    if (error.message().starts_with(begin)) throw;
    Error named(error.kind(), begin + what + " failed: " + error.message());
    named.set_foreign(error.foreign());
    throw named;
  }
}

OpImplementation from_slots(const Op& op) {
  Any compute = op.slot(relay::kCompute), schedule = op.slot(relay::kSchedule);
  if (compute.is_null()) throw Error(NotImplementedError) << "the operator " << op->name << " has no compute";
  return relay::make_implementation(compute.to<PackedFunc>(),
                                    schedule.is_null() ? PackedFunc() : schedule.to<PackedFunc>(), op->name, 10);
}

Any call_strategy(const Any& strategy, const Attrs& attrs, const Tensors& inputs, const Type& out_type,
                  const Target& target) {
  ObjectRef object = strategy.to<ObjectRef>();
  PackedFunc function = object.as<GenericFuncNode>() ? implementation_for(downcast<GenericFunc>(object), target)
                                                     : strategy.to<PackedFunc>();
  return function(attrs, inputs, out_type, target);
}

/// True when all clauses of the condition hold for every value of the variables in it.
bool holds(const te::SpecializedCondition& condition) {
  if (!condition) return true;
  arith::Analyzer analyzer;
  for (const PrimExpr& clause : condition->clauses)
    if (!analyzer.can_prove(clause)) return false;
  return true;
}

}  // namespace

Array<OpImplementation> valid_implementations(const Op& op, const Attrs& attrs, const Tensors& inputs,
                                              const Type& out_type, const Target& target) {
  Any slot = op.slot(relay::kStrategy);
  if (slot.is_null()) return {from_slots(op)};
  OpStrategy strategy = naming(op, "its strategy", [&] {
    relay::WithTarget scope(target);
    return call_strategy(slot, attrs, inputs, out_type, target).to<OpStrategy>();
  });
  Array<OpImplementation> out;
  for (const OpSpecialization& one : strategy->specializations)
    if (holds(one->condition))
      for (const OpImplementation& implementation : one->implementations) out.push_back(implementation);
  return out;
}

OpImplementation select_implementation(const Op& op, const Attrs& attrs, const Tensors& inputs, const Type& out_type,
                                       const Target& target) {
  OpImplementation best;
  for (const OpImplementation& one : valid_implementations(op, attrs, inputs, out_type, target))
    if (!best || one->plevel > best->plevel) best = one;
  if (!best)
    throw Error(RuntimeError) << op->name << ": its strategy offers no implementation for the target "
                              << to_text(target);
  return best;
}

Tensors compute_by(const OpImplementation& implementation, const Op& op, const Attrs& attrs, const Tensors& inputs,
                   const Type& out_type, const Target& target) {
  if (!implementation->fcompute)
    throw Error(NotImplementedError) << op->name << ": the implementation " << implementation->name
                                     << " has no compute";
  return naming(op, "the compute of " + implementation->name.str(), [&] {
    relay::WithTarget scope(target);
    return implementation->fcompute(attrs, inputs, out_type).to<Tensors>();
  });
}

te::Schedule schedule_by(const OpImplementation& implementation, const Op& op, const Attrs& attrs, const Tensors& outs,
                         const Target& target) {
  return naming(op, "the schedule of " + implementation->name.str(), [&] {
    relay::WithTarget scope(target);
    return implementation->fschedule(attrs, outs, target).to<te::Schedule>();
  });
}

static Globals implementation_globals{
    {"relay.op._OpImplementationCompute",
     [](OpImplementation one, Attrs attrs, Tensors inputs, Type out_type) {
       return one->fcompute(attrs, inputs, out_type).to<Tensors>();
     }},
    {"relay.op._OpImplementationScheduleFunction", [](OpImplementation one) { return one->fschedule; }},
    {"relay.backend._make_LoweredOutput",
     [](Tensors outputs, OpImplementation implementation) {
       LoweredOutputNode node;
       node.outputs = outputs;
       node.implementation = implementation;
       return LoweredOutput(make(std::move(node)));
     }},
    {"relay.op._ValidImplementations", valid_implementations},
    {"relay.op._SelectImplementation", select_implementation},
};

}  // namespace tessera::kernel
