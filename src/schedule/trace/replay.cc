// Doing again what a trace says.

#include "ir/json/json.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "schedule/trace/instruction.h"

namespace tessera::schedule {
namespace {

/// Inputs with random variables of another schedule replaced by ours; lists inside too.
ObjectRef translate(const ObjectRef& value, const std::unordered_map<const Object*, ObjectRef>& known) {
  if (!value) return value;
  if (auto found = known.find(value.get()); found != known.end()) return found->second;
  if (auto* e = value.as<PrimExprNode>())
    return rewrite(PrimExpr(e), [&](const VarNode* var) -> PrimExpr {
      auto found = known.find(var);
      return found == known.end() ? PrimExpr(var) : downcast<PrimExpr>(found->second);
    });
  auto* array = value.as<ArrayNode>();
  if (!array) return value;
  Array<ObjectRef> out;
  for (const ObjectRef& item : array->items) out.push_back(translate(item, known));
  return out;
}

}  // namespace

void replay(const Trace& trace, ScheduleNode& sch, bool remove_postproc, const DecisionProvider& provider) {
  std::unordered_map<const Object*, ObjectRef> known;
  Map<Instruction, ObjectRef> decisions = trace->decisions;
  for (const Instruction& inst : instructions_of(trace, remove_postproc)) {
    Array<ObjectRef> inputs(translate(inst->inputs, known).as<ArrayNode>());
    ObjectRef decision = decisions.get_or_null(inst);
    if (provider) decision = provider(inst, inputs, inst->attrs, decision);
    Array<ObjectRef> outputs = run_instruction(sch, inst->kind->name, inputs, inst->attrs, decision);
    if (outputs.size() != inst->outputs.size())
      throw Error(ValueError) << inst->kind->name << " gave " << outputs.size() << " results, the trace has "
                              << inst->outputs.size();
    for (size_t i = 0; i < outputs.size(); ++i) known[inst->outputs[i].get()] = outputs[i];
  }
}

namespace {

Array<ObjectRef> list_at(const Array<ObjectRef>& list, size_t i) {
  if (i >= list.size() || !list[i].as<ArrayNode>())
    throw Error(ValueError) << "not the JSON of a trace: expected a list at position " << i;
  return Array<ObjectRef>(list[i].as<ArrayNode>());
}

/// A value of the JSON form: names are random variables, quoted text is a string.
ObjectRef from_json(const ObjectRef& value, const std::unordered_map<std::string, ObjectRef>& named) {
  if (auto* array = value.as<ArrayNode>()) {
    Array<ObjectRef> out;
    for (const ObjectRef& item : array->items) out.push_back(from_json(item, named));
    return out;
  }
  auto* text = value.as<StringNode>();
  if (!text) return value;
  if (text->text == "None") return ObjectRef();
  if (text->text.size() >= 2 && text->text.front() == '"') return String(text->text.substr(1, text->text.size() - 2));
  auto found = named.find(text->text);
  if (found == named.end()) throw Error(ValueError) << "the trace uses " << text->text << " before it is defined";
  return found->second;
}

/// Attributes of the JSON form; index maps are JSON texts of their own.
Array<ObjectRef> attributes_of(const InstructionRecord& record, const Array<ObjectRef>& json) {
  Array<ObjectRef> out = json;
  for (std::string_view rest = record.arguments; rest.find("{m") != rest.npos;) {
    rest.remove_prefix(rest.find("{m") + 2);
    size_t index = static_cast<size_t>(rest[0] - '0');
    auto* text = index < out.size() ? out[index].as<StringNode>() : nullptr;
    if (text) out.set(index, load_json(text->text));
  }
  return out;
}

}  // namespace

void replay_json(const Array<ObjectRef>& json, ScheduleNode& sch) {
  std::unordered_map<std::string, ObjectRef> named;
  std::unordered_map<int64_t, ObjectRef> decisions;
  for (const ObjectRef& item : list_at(json, 1)) {
    Array<ObjectRef> pair = list_at({item}, 0);
    auto* index = pair.size() == 2 ? pair[0].as<IntImm>() : nullptr;
    if (!index) throw Error(ValueError) << "not the JSON of a trace: a decision is [index, value]";
    decisions[index->value] = pair[1];
  }
  int64_t position = 0;
  for (const ObjectRef& item : list_at(json, 0)) {
    Array<ObjectRef> inst = list_at({item}, 0);
    String kind = inst.size() == 4 ? downcast_or_null<String>(inst[0]) : String(nullptr);
    if (!kind.defined())
      throw Error(ValueError) << "not the JSON of a trace: an instruction is [kind, inputs, attrs, outputs]";
    Array<ObjectRef> inputs(from_json(list_at(inst, 1), named).as<ArrayNode>());
    auto decision = decisions.find(position++);
    Array<ObjectRef> attrs = attributes_of(find_instruction(kind), list_at(inst, 2));
    Array<ObjectRef> outputs =
        run_instruction(sch, kind, inputs, attrs, decision == decisions.end() ? ObjectRef() : decision->second);
    Array<ObjectRef> names = list_at(inst, 3);
    if (names.size() != outputs.size())
      throw Error(ValueError) << kind << " gave " << outputs.size() << " results, the trace has " << names.size();
    for (size_t i = 0; i < names.size(); ++i) named[to_text(downcast<String>(names[i]))] = outputs[i];
  }
}

namespace {

Globals replay_globals{
    {"tir.schedule.Trace",
     [](const Array<Instruction>& insts, const Map<Instruction, ObjectRef>& decisions) {
       return Trace(make(TraceNode{.insts = insts, .decisions = decisions}));
     }},
    {"tir.schedule.InstructionAsPython", instruction_as_python},
    {"tir.schedule.TraceGetDecision",
     [](const Trace& trace, const Instruction& inst) { return trace->decisions.get_or_null(inst); }},
    {"tir.schedule.TraceAppend",
     [](const Trace& trace, const Instruction& inst, const Any& decision) {
       trace.edit()->insts.push_back(inst);
       if (!decision.is_null()) trace.edit()->decisions.set(inst, box(decision));
     }},
    {"tir.schedule.TracePop",
     [](const Trace& trace) -> ObjectRef {
       if (trace->insts.empty()) return {};
       Instruction last = trace->insts[trace->insts.size() - 1];
       trace.edit()->insts.pop_back();
       trace.edit()->decisions.erase(last);
       return last;
     }},
    {"tir.schedule.TraceWithDecision",
     [](const Trace& trace, const Instruction& inst, const Any& decision, bool remove_postproc) {
       return trace_with_decision(trace, inst, box(decision), remove_postproc);
     }},
    {"tir.schedule.TraceSimplified", trace_simplified},
    {"tir.schedule.TraceAsPython", trace_as_python},
    {"tir.schedule.TraceAsJSON", trace_as_json},
    {"tir.schedule.TraceApplyToSchedule",
     [](const Trace& trace, const Schedule& sch, bool remove_postproc, const PackedFunc& provider) {
       DecisionProvider ask;
       if (provider.defined())
         ask = [&](const Instruction& inst, const Array<ObjectRef>& inputs, const Array<ObjectRef>& attrs,
                   const ObjectRef& decision) { return box(provider(inst, inputs, attrs, decision)); };
       replay(trace, *sch.edit(), remove_postproc, ask);
     }},
    {"tir.schedule.TraceApplyJSONToSchedule",
     [](const Array<ObjectRef>& json, const Schedule& sch) { replay_json(json, *sch.edit()); }},
    {"tir.schedule.InstructionKindGet",
     [](const String& name) {
       find_instruction(name);
       return InstructionKind(make(InstructionKindNode{.name = name}));
     }},
    {"tir.schedule.Instruction",
     [](const InstructionKind& kind, const Array<ObjectRef>& inputs, const Array<ObjectRef>& attrs,
        const Array<ObjectRef>& outputs) {
       return Instruction(make(InstructionNode{.kind = kind, .inputs = inputs, .attrs = attrs, .outputs = outputs}));
     }},
    {"tir.schedule.InstructionKindIsPure",
     [](const InstructionKind& kind) { return is_pure(InstructionNode{.kind = kind}); }},
    {"tir.schedule.BlockRV", [] { return BlockRV(make(BlockRVNode{})); }},
    {"tir.schedule.LoopRV", [] { return LoopRV(make(LoopRVNode{})); }},
};

}  // namespace
}  // namespace tessera::schedule
