#pragma once
// The table of primitives: how each is called by name and how its call is written in Python.

#include "schedule/schedule.h"

namespace tessera::schedule {

/// A call as the table's functions see it.
struct InstructionCall {
  ScheduleNode& sch;
  const Array<ObjectRef>&inputs, &attrs;
  ObjectRef& decision;  // of instructions that sample: the one to follow, and the one taken

  State& state() const { return sch.state; }
  BlockRef block(size_t i) const { return sch.block(inputs[i]); }
  LoopRef loop(size_t i) const { return sch.loop(inputs[i]); }
  Cursor cursor(size_t i) const { return sch.cursor(inputs[i]); }
  std::vector<LoopRef> all_loops() const;
  int number(size_t i) const;  // attribute i, or a TypeError
  Array<PrimExpr> numbers(size_t i) const;
  IndexMap index_map(size_t i) const;  // may be empty
  String text(size_t i) const;
  Array<ObjectRef> list(size_t i) const;
};

struct InstructionRecord {
  const char* kind;    // "ComputeAt"
  const char* method;  // "compute_at"
  /// The arguments in Python: {i0} input 0, {i1:} inputs from 1 as a list without brackets, {a0} attribute 0,
  /// {b0} attribute 0 as a bool, {c1} consumer blocks where there are any, {m0} attribute 0, an index map or None,
  /// {r0} a buffer by attributes 0 and 1: ("read", 2).
  const char* arguments;
  Array<ObjectRef> (*run)(const InstructionCall& call);
};

/// The record of a kind; a ValueError for a kind that there is none of.
const InstructionRecord& find_instruction(const String& kind);

}  // namespace tessera::schedule
