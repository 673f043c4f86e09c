#include "op/record.h"

#include "runtime/packed_func.h"

namespace tessera::op {

OpRecord::OpRecord(std::string_view name) : op_(Op::define(name)) { op_.edit()->num_inputs = 0; }

OpRecord& OpRecord::doc(const char* text) { return op_.edit()->description = String(text), *this; }

OpRecord& OpRecord::input(const char* name, const char* doc, const char* type) {
  AttrFieldInfoNode argument;
  argument.name = String(name);
  argument.type_info = String(type);
  argument.description = String(doc);
  op_.edit()->arguments.push_back(make(std::move(argument)));
  ++op_.edit()->num_inputs;
  return *this;
}

OpRecord& OpRecord::variadic() { return op_.edit()->num_inputs = -1, *this; }

OpRecord& OpRecord::takes(int count) { return op_.edit()->num_inputs = count, *this; }

OpRecord& OpRecord::support_level(int level) { return op_.edit()->support_level = level, *this; }

OpRecord& OpRecord::type(const char* name, TypeRule rule) {
  relay::TypeRuleSlot slot;
  slot.name = String(name);
  slot.rule = rule;
  return set(relay::kTypeRule, Any(make(std::move(slot))));
}

OpRecord& OpRecord::fusion(Fusion kind) { return set(relay::kFusion, Any(static_cast<int64_t>(kind))); }

OpRecord& OpRecord::compute(Compute compute) {
  keep_compute(op_->name.str(), compute);
  return set(relay::kCompute, Any(typed("compute", std::move(compute))));
}

OpRecord& OpRecord::gradient(Gradient gradient) {
  return set(relay::kGradient, Any(typed("gradient", std::move(gradient))));
}

OpRecord& OpRecord::shape(std::initializer_list<int> needs_value, ShapeFunc shape) {
  Array<PrimExpr> flags;
  for (int flag : needs_value) flags.push_back(PrimExpr(flag));
  set(relay::kShapeDataDependent, Any(flags));
  return set(relay::kShapeFunc, Any(typed("shape_func", std::move(shape))));
}

OpRecord& OpRecord::noncomputational() { return set(relay::kNonComputational, Any(true)); }

OpRecord& OpRecord::stateful(bool is_stateful) { return set(relay::kIsStateful, Any(is_stateful)); }

OpRecord& OpRecord::set(const char* slot, Any value) { return op_.set(slot, std::move(value)), *this; }

}  // namespace tessera::op
