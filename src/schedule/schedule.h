#pragma once
// tir.Schedule: the state, the random variables that users hold, and the trace of what was done.

#include <unordered_map>

#include "schedule/primitives.h"
#include "schedule/trace.h"

namespace tessera::schedule {

/// Changes on purpose. A copy shares nothing that changes; random variables are valid in both.
struct ScheduleNode : Object {
  static constexpr NodeInfo info{"tir.Schedule", &Object::info, Role::Identity};
  static void fields(auto) {}

  State state{IRModule()};
  Trace trace = make(TraceNode{});
  String function = "main";  // where get_block looks by default

  BlockRef block(const ObjectRef& rv) const;
  LoopRef loop(const ObjectRef& rv) const;
  Place place(const ObjectRef& rv) const;
  /// An expression with sampled variables replaced by their values.
  PrimExpr value(const PrimExpr& e) const;

  ObjectRef add(const BlockRef& block);
  ObjectRef add(const LoopRef& loop);
  void remove(const ObjectRef& rv);

  std::unordered_map<const Object*, std::pair<ObjectRef, BlockRef>> blocks;  // the key is kept alive
  std::unordered_map<const Object*, std::pair<ObjectRef, LoopRef>> loops;
  Map<Var, PrimExpr> values;
};
using Schedule = Ref<ScheduleNode>;

Schedule make_schedule(const IRModule& mod);
Schedule copy_schedule(const Schedule& sch);

/// Runs the primitive of that name, notes it in the trace and returns its outputs.
Array<ObjectRef> run_instruction(ScheduleNode& sch, const String& kind, const Array<ObjectRef>& inputs,
                                 const Array<ObjectRef>& attrs, const ObjectRef& decision);
/// Does again on `sch` what the trace says.
void replay(const Trace& trace, ScheduleNode& sch);
void replay_json(const Array<ObjectRef>& json, ScheduleNode& sch);

}  // namespace tessera::schedule
