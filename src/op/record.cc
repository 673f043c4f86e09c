#include "op/record.h"

#include "ir/prim/expr.h"
#include "relay/strategy.h"
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
  relay::name_type_relation(name, rule, op_->attrs_type_key.empty());
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

OpRecord& OpRecord::moves(Moves kind) { return set(relay::kMoves, Any(static_cast<int64_t>(kind))); }

OpRecord& OpRecord::reduction(Reduction kind) { return set(relay::kReduction, Any(static_cast<int64_t>(kind))); }

OpRecord& OpRecord::commutative() { return set(relay::kIsCommutative, Any(true)); }

OpRecord& OpRecord::neutral(double element) { return set(relay::kNeutralElement, Any(element)); }

OpRecord& OpRecord::fills(double value) { return set(relay::kFillValue, Any(value)); }

OpRecord& OpRecord::sees_order_only() { return set(relay::kSeesOrderOnly, Any(true)); }

OpRecord& OpRecord::precision(Precision kind) {
  auto conversion = [kind](const Expr&, const String& narrow) {
    const String dtype = kind == Precision::Never ? String("float32") : narrow;
    return Array<ObjectRef>{int_imm(DataType::Int(32), static_cast<int>(kind)), dtype, dtype};
  };
  return set(relay::kMixedPrecision, Any(typed("mixed precision", conversion)), relay::kBuiltInLevel);
}

OpRecord& OpRecord::quantized(relay::QuantizedForm rule) {
  return set(relay::kQuantizedForm, Any(typed("quantized form", std::move(rule))), relay::kBuiltInLevel);
}

OpRecord& OpRecord::layout(relay::LayoutRule rule) { return relay::set_layout_rule(op_, rule), *this; }

OpRecord& OpRecord::convert_layout(relay::ConvertLayout rule) {
  auto convert = [name = op_->name, rule](Attrs attrs, Array<Expr> args, Array<ObjectRef>, Array<String> desired) {
    return rule(Op::get(name), attrs, args, desired);
  };
  return set(relay::kConvertOpLayout, Any(typed(op_->name.str() + " conversion", convert)));
}

OpRecord& OpRecord::alter_layout(relay::AlterLayout rule) {
  auto alter = [name = op_->name, rule](const Attrs& attrs, const Array<Expr>& args,
                                        const Array<ObjectRef>& placeholders, const Type& type,
                                        const relay::GraphEnvironment& environment) {
    return rule(Op::get(name), attrs, args, placeholders, type, environment);
  };
  return set(relay::kAlterOpLayout, Any(relay::graph_rule<Attrs, Array<Expr>, Array<ObjectRef>, Type>(
                                        op_->name.str() + " in blocks of channels", alter)));
}

OpRecord& OpRecord::legalize(relay::Legalize rule) {
  auto legal = [name = op_->name, rule](const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                                        const relay::GraphEnvironment& environment) {
    return rule(Op::get(name), attrs, args, types, environment);
  };
  return set(relay::kLegalize, Any(relay::graph_rule<Attrs, Array<Expr>, Array<Type>>(
                                   op_->name.str() + " as the target takes it", legal)));
}

OpRecord& OpRecord::pack_weights(relay::PackWeights rule) {
  return set(relay::kPackWeights, Any(relay::graph_rule<Attrs, Array<Expr>, Array<ObjectRef>, Type>(
                                      op_->name.str() + " with packed weights", rule)));
}

OpRecord& OpRecord::channels(relay::ChannelsOf rule) {
  auto of_call = [rule](const Expr& call) -> Array<PrimExpr> {
    std::optional<relay::LayerChannels> at = rule(call.as<relay::Call>());
    if (!at) return nullptr;
    return {at->data,       at->result,       at->weight_in,       at->weight_out,      at->weight_rank,
            at->data_block, at->result_block, at->weight_in_block, at->weight_out_block};
  };
  return set(relay::kLayerChannels, Any(typed("channels", of_call)));
}

OpRecord& OpRecord::takes_narrow_weight() { return set(relay::kTakesNarrowWeight, Any(true)); }

OpRecord& OpRecord::flops(int per_element) { return set(relay::kFlopsPerElement, Any(int64_t{per_element})); }

OpRecord& OpRecord::numeric(bool is_numeric) { return set(relay::kIsNumeric, Any(is_numeric)); }

OpRecord& OpRecord::keeps_positive_scale() { return set(relay::kKeepsPositiveScale, Any(true)); }

OpRecord& OpRecord::fast_form(const char* op) { return set(relay::kFastForm, Any(String(op))); }

OpRecord& OpRecord::static_form(relay::StaticForm form) {
  auto of_call = [form = std::move(form)](const Expr& call) { return form(call.as<relay::Call>()); };
  return set(relay::kStaticForm, Any(typed("static form", of_call)));
}

OpRecord& OpRecord::concrete_form(relay::ConcreteForm form) {
  auto of_call = [form](const Expr& call, const TensorType& type) { return form(call.as<relay::Call>(), type); };
  return set(relay::kConcreteForm, Any(typed("concrete form", of_call)));
}

OpRecord& OpRecord::strategy_name(const char* name) { return set(relay::kStrategyName, Any(String(name))); }

OpRecord& OpRecord::inference_form(relay::InferenceForm form) {
  auto of_call = [form = std::move(form)](const Expr& call, const Array<Expr>& args) {
    return form(call.as<relay::Call>(), args);
  };
  return set(relay::kInferenceForm, Any(typed("inference form", of_call)));
}

OpRecord& OpRecord::evaluate(relay::Evaluate loop) {
  auto of_call = [loop = std::move(loop)](const Expr& call, const Array<NDArray>& args) {
    return loop(call.as<relay::Call>(), std::vector<NDArray>(args.begin(), args.end()));
  };
  return set(relay::kEvaluate, Any(typed("evaluate", of_call)));
}

OpRecord& OpRecord::set(const char* slot, Any value, int level) {
  return op_.set(slot, std::move(value), level), *this;
}

}  // namespace tessera::op
