#include "schedule/schedule.h"

#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "schedule/instruction.h"

namespace tessera::schedule {

BlockRef ScheduleNode::block(const ObjectRef& rv) const {
  auto found = blocks.find(rv.get());
  if (found == blocks.end()) throw Error(ValueError) << "this is no block of the schedule: " << to_text(rv);
  return found->second.second;
}

LoopRef ScheduleNode::loop(const ObjectRef& rv) const {
  auto found = loops.find(rv.get());
  if (found == loops.end()) throw Error(ValueError) << "this is no loop of the schedule: " << to_text(rv);
  return found->second.second;
}

Place ScheduleNode::place(const ObjectRef& rv) const {
  return loops.count(rv.get()) ? state.find(loop(rv)) : state.find(block(rv));
}

PrimExpr ScheduleNode::value(const PrimExpr& e) const { return substitute(e, values); }

ObjectRef ScheduleNode::add(const BlockRef& block) {
  ObjectRef rv = make(BlockRVNode{});
  blocks[rv.get()] = {rv, block};
  return rv;
}

ObjectRef ScheduleNode::add(const LoopRef& loop) {
  ObjectRef rv = make(LoopRVNode{});
  loops[rv.get()] = {rv, loop};
  return rv;
}

void ScheduleNode::remove(const ObjectRef& rv) {
  blocks.erase(rv.get());
  loops.erase(rv.get());
}

Schedule make_schedule(const IRModule& mod) {
  ScheduleNode node;
  node.state = State(mod);
  std::vector<std::string> names;
  for (const auto& [var, function] : mod.sorted_functions())
    if (function.as<PrimFuncNode>()) names.push_back(var->name_hint.str());
  if (names.size() == 1) node.function = names[0];
  return make(std::move(node));
}

Schedule copy_schedule(const Schedule& sch) {
  ScheduleNode node(*sch);
  node.state = sch->state.copy();
  node.trace = make(TraceNode(*sch->trace));
  return make(std::move(node));
}

Array<ObjectRef> run_instruction(ScheduleNode& sch, const String& kind, const Array<ObjectRef>& inputs,
                                 const Array<ObjectRef>& attrs, const ObjectRef& decision) {
  const InstructionRecord& record = find_instruction(kind);
  Array<ObjectRef> outputs;
  try {
    outputs = record.run({sch, inputs, attrs});
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
    std::string method = record.method;
    for (char& c : method)
      if (c == '_') c = '-';
    throw Error(ScheduleError) << "An error occurred in the schedule primitive '" << method
                               << "'.\nError message: " << error.message();
  }
  Instruction inst = make(InstructionNode{
      .kind = make(InstructionKindNode{.name = kind}), .inputs = inputs, .attrs = attrs, .outputs = outputs});
  sch.trace.edit()->insts.push_back(inst);
  if (decision) sch.trace.edit()->decisions.set(inst, decision);
  return outputs;
}

namespace {

/// Inputs with random variables of another schedule replaced by ours; lists inside too.
ObjectRef translate(const ObjectRef& value, const std::unordered_map<const Object*, ObjectRef>& known) {
  if (!value) return value;
  if (auto found = known.find(value.get()); found != known.end()) return found->second;
  auto* array = value.as<ArrayNode>();
  if (!array) return value;
  Array<ObjectRef> out;
  for (const ObjectRef& item : array->items) out.push_back(translate(item, known));
  return out;
}

}  // namespace

void replay(const Trace& trace, ScheduleNode& sch) {
  std::unordered_map<const Object*, ObjectRef> known;
  for (const Instruction& inst : Array<Instruction>(trace->insts)) {
    Array<ObjectRef> inputs(translate(inst->inputs, known).as<ArrayNode>());
    Array<ObjectRef> outputs =
        run_instruction(sch, inst->kind->name, inputs, inst->attrs, trace->decisions.get_or_null(inst));
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
    Array<ObjectRef> outputs = run_instruction(sch, kind, inputs, list_at(inst, 2),
                                               decision == decisions.end() ? ObjectRef() : decision->second);
    Array<ObjectRef> names = list_at(inst, 3);
    if (names.size() != outputs.size())
      throw Error(ValueError) << kind << " gave " << outputs.size() << " results, the trace has " << names.size();
    for (size_t i = 0; i < names.size(); ++i) named[to_text(downcast<String>(names[i]))] = outputs[i];
  }
}

namespace {

ObjectRef get(const Schedule& sch, const ObjectRef& rv) {
  if (auto* e = rv.as<PrimExprNode>()) return sch->value(PrimExpr(e));
  Place place = sch->place(rv);
  if (place.loop()) return place.stmt();
  return place.realize()->block;
}

Globals globals{
    {"tir.schedule.Schedule", make_schedule},
    {"tir.schedule.ScheduleCopy", copy_schedule},
    {"tir.schedule.ScheduleGetMod", [](const Schedule& sch) { return sch->state.mod(); }},
    {"tir.schedule.ScheduleGetTrace", [](const Schedule& sch) { return sch->trace; }},
    {"tir.schedule.ScheduleWorkOn",
     [](const Schedule& sch, const String& name) {
       sch->state.mod().get_global_var(name);
       sch.edit()->function = name;
     }},
    {"tir.schedule.ScheduleFunction", [](const Schedule& sch) { return sch->function; }},
    {"tir.schedule.ScheduleGet", get},
    {"tir.schedule.ScheduleRemoveRV", [](const Schedule& sch, const ObjectRef& rv) { sch.edit()->remove(rv); }},
    {"tir.schedule.ScheduleRun",
     [](const Schedule& sch, const String& kind, const Array<ObjectRef>& inputs, const Array<ObjectRef>& attrs,
        const ObjectRef& decision) { return run_instruction(*sch.edit(), kind, inputs, attrs, decision); }},
    {"tir.schedule.TraceAsPython", trace_as_python},
    {"tir.schedule.TraceAsJSON", trace_as_json},
    {"tir.schedule.TraceApplyToSchedule", [](const Trace& trace, const Schedule& sch) { replay(trace, *sch.edit()); }},
    {"tir.schedule.TraceApplyJSONToSchedule",
     [](const Array<ObjectRef>& json, const Schedule& sch) { replay_json(json, *sch.edit()); }},
};

}  // namespace
}  // namespace tessera::schedule
