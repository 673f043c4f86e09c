#include "schedule/schedule.h"

#include "ir/json/json.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "schedule/trace/instruction.h"
#include "schedule/trace/sampling.h"

namespace tessera::schedule {
namespace {

std::string text_of(const ObjectRef& value) { return value ? to_text(value) : "None"; }

}  // namespace

BlockRef ScheduleNode::block(const ObjectRef& rv) const {
  auto found = blocks.find(rv.get());
  if (found != blocks.end()) return found->second.second;
  if (rv.as<BlockRVNode>()) throw Error(IndexError) << "this block was found in another schedule, or is removed";
  throw Error(TypeError) << "expected a block (BlockRV) of the schedule, got " << text_of(rv);
}

LoopRef ScheduleNode::loop(const ObjectRef& rv) const {
  auto found = loops.find(rv.get());
  if (found != loops.end()) return found->second.second;
  if (rv.as<LoopRVNode>()) throw Error(IndexError) << "this loop was found in another schedule, or is removed";
  throw Error(TypeError) << "expected a loop (LoopRV) of the schedule, got " << text_of(rv);
}

Cursor ScheduleNode::cursor(const ObjectRef& rv) const {
  return rv.as<LoopRVNode>() ? state.find(loop(rv)) : state.find(block(rv));
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

ObjectRef ScheduleNode::add(int64_t value) {
  Var rv = make_var("v" + std::to_string(values.size()));
  values.set(rv, PrimExpr(static_cast<int>(value)));
  return rv;
}

void ScheduleNode::remove(const ObjectRef& rv) {
  blocks.erase(rv.get());
  loops.erase(rv.get());
  if (auto* var = rv.as<VarNode>()) values.erase(Var(var));
}

Schedule make_schedule(const IRModule& mod, int64_t seed, int debug_mask, int render_level) {
  ScheduleNode node;
  node.state = State(mod);
  node.random = Random::state_of_seed(seed);
  node.debug_mask = debug_mask;
  node.render_level = static_cast<RenderLevel>(render_level);
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
  node.random = Random::state_of_seed(Random(&sch.edit()->random).fork());
  return make(std::move(node));
}

namespace {

/// The loops and blocks among the inputs of an instruction, as they stand in the program.
std::vector<Stmt> statements_of(const ScheduleNode& sch, const Array<ObjectRef>& inputs) {
  std::vector<Stmt> out;
  for (const ObjectRef& input : inputs) {
    if (!input || (!sch.blocks.count(input.get()) && !sch.loops.count(input.get()))) continue;
    try {
      Cursor cursor = sch.cursor(input);
      out.push_back(cursor.loop() ? cursor.stmt() : Stmt(cursor.block()));
    } catch (const Error&) {
      continue;  // gone by now
    }
  }
  return out;
}

}  // namespace

Array<ObjectRef> run_instruction(ScheduleNode& sch, const String& kind, const Array<ObjectRef>& inputs,
                                 const Array<ObjectRef>& attrs, ObjectRef decision) {
  const InstructionRecord& record = find_instruction(kind);
  State::Snapshot before = sch.state.snapshot();
  Array<ObjectRef> outputs;
  try {
    outputs = record.run({sch, inputs, attrs, decision});
  } catch (const Error& error) {
    sch.state.restore(before);
    if (error.kind() != ScheduleError) throw;
    auto* primitive_error = dynamic_cast<const PrimitiveError*>(&error);
    std::vector<Stmt> statements = primitive_error ? primitive_error->statements() : std::vector<Stmt>();
    if (statements.empty()) statements = statements_of(sch, inputs);
    bool is_brief = sch.render_level == RenderLevel::Fast && primitive_error && !primitive_error->brief().empty();
    throw Error(ScheduleError) << render_error(sch.render_level, sch.state.mod(), record.method,
                                               is_brief ? primitive_error->brief() : error.message(), statements);
  }
  Instruction inst = make(InstructionNode{
      .kind = make(InstructionKindNode{.name = kind}), .inputs = inputs, .attrs = attrs, .outputs = outputs});
  sch.trace.edit()->insts.push_back(inst);
  if (decision) sch.trace.edit()->decisions.set(inst, decision);
  return outputs;
}

namespace {

ObjectRef get(const Schedule& sch, const ObjectRef& rv) {
  if (auto* e = rv.as<PrimExprNode>()) return sch->value(PrimExpr(e));
  Cursor cursor = sch->cursor(rv);
  if (cursor.loop()) return cursor.stmt();
  return cursor.realize()->block;
}

Globals schedule_globals{
    {"tir.schedule.Schedule", make_schedule},
    {"tir.schedule.ScheduleCopy", copy_schedule},
    // A module of its own: what the user holds does not change under later primitives.
    {"tir.schedule.ScheduleGetMod", [](const Schedule& sch) { return sch->state.mod().copy(); }},
    {"tir.schedule.ScheduleSeed",
     [](const Schedule& sch, int64_t seed) { sch.edit()->random = Random::state_of_seed(seed); }},
    {"tir.schedule.ScheduleForkSeed", [](const Schedule& sch) { return Random(&sch.edit()->random).fork(); }},
    {"tir.schedule.ScheduleGetTrace", [](const Schedule& sch) { return sch->trace; }},
    {"tir.schedule.ScheduleWorkOn",
     [](const Schedule& sch, const String& name) {
       sch->state.mod().get_global_var(name);
       sch.edit()->function = name;
     }},
    {"tir.schedule.ScheduleFunction",
     [](const Schedule& sch) {
       if (!sch->state.mod().find_global_var(sch->function))
         throw Error(ValueError) << "`get_block` does not know which function to be working on: name it, or call "
                                    "`work_on` first. The module has "
                                 << sch->state.mod()->functions.size() << " functions";
       return sch->function;
     }},
    {"tir.schedule.ScheduleGet", get},
    {"tir.schedule.ScheduleRemoveRV", [](const Schedule& sch, const ObjectRef& rv) { sch.edit()->remove(rv); }},
    {"tir.schedule.ScheduleRun",
     [](const Schedule& sch, const String& kind, const Array<ObjectRef>& inputs, const Array<ObjectRef>& attrs,
        const Any& decision) { return run_instruction(*sch.edit(), kind, inputs, attrs, box(decision)); }},
    {"tir.schedule.ScheduleCanDecomposePadding",
     [](const Schedule& sch, const ObjectRef& block, const ObjectRef& loop) {
       State tried = sch->state.copy();
       try {
         decompose_padding(tried, sch->block(block), sch->loop(loop));
       } catch (const Error& error) {
         if (error.kind() != ScheduleError) throw;
         return false;
       }
       return true;
     }},
};

}  // namespace
}  // namespace tessera::schedule
