#pragma once
// tir.Schedule: the state, the random variables that users hold, and the trace of what was done.

#include <functional>
#include <unordered_map>

#include "schedule/primitive_error.h"
#include "schedule/primitives.h"
#include "schedule/trace/trace.h"

namespace tessera::schedule {

/// Changes on purpose. A copy shares nothing that changes; random variables are valid in both.
struct ScheduleNode : Object {
  static constexpr NodeInfo info{"tir.Schedule", &Object::info, Role::Identity};
  static void fields(auto) {}

  State state{IRModule()};
  Trace trace = make(TraceNode{});
  String function = "main";  // where get_block looks by default
  int64_t random = 1;        // the state of the generator that sampling draws from
  RenderLevel render_level = RenderLevel::Detail;
  int debug_mask = 0;

  BlockRef block(const ObjectRef& rv) const;
  LoopRef loop(const ObjectRef& rv) const;
  Cursor cursor(const ObjectRef& rv) const;
  /// An expression with sampled variables replaced by their values.
  PrimExpr value(const PrimExpr& e) const;

  ObjectRef add(const BlockRef& block);
  ObjectRef add(const LoopRef& loop);
  ObjectRef add(int64_t value);  // a sampled integer
  void remove(const ObjectRef& rv);

  std::unordered_map<const Object*, std::pair<ObjectRef, BlockRef>> blocks;  // the key is kept alive
  std::unordered_map<const Object*, std::pair<ObjectRef, LoopRef>> loops;
  Map<Var, PrimExpr> values;
};
using Schedule = Ref<ScheduleNode>;

/// `seed` -1 takes one from the machine.
Schedule make_schedule(const IRModule& mod, int64_t seed, int debug_mask, int render_level);
Schedule copy_schedule(const Schedule& sch);

/// Runs the primitive of that name, notes it in the trace and returns its outputs. Sampling follows `decision` where
/// there is one. A rejected primitive leaves the program as it was.
Array<ObjectRef> run_instruction(ScheduleNode& sch, const String& kind, const Array<ObjectRef>& inputs,
                                 const Array<ObjectRef>& attrs, ObjectRef decision);

/// Asked for a decision before each instruction: (instruction, inputs, attrs, decision) -> decision.
using DecisionProvider =
    std::function<ObjectRef(const Instruction&, const Array<ObjectRef>&, const Array<ObjectRef>&, const ObjectRef&)>;
/// Does again on `sch` what the trace says.
void replay(const Trace& trace, ScheduleNode& sch, bool remove_postproc, const DecisionProvider& provider);
void replay_json(const Array<ObjectRef>& json, ScheduleNode& sch);

}  // namespace tessera::schedule
