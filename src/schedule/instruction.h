#pragma once
// The table of primitives: how each is called by name and how its call is written in Python.

#include "schedule/schedule.h"

namespace tessera::schedule {

struct InstructionRecord {
  const char* kind;    // "ComputeAt"
  const char* method;  // "compute_at"
  /// The arguments in Python: {i0} input 0, {i1:} inputs from 1 as a list without brackets, {a0} attribute 0,
  /// {b0} attribute 0 as a bool, {c1} consumer blocks where there are any.
  const char* arguments;
  Array<ObjectRef> (*run)(ScheduleNode& sch, const Array<ObjectRef>& inputs, const Array<ObjectRef>& attrs);
};

/// The record of a kind; a ValueError for a kind that there is none of.
const InstructionRecord& find_instruction(const String& kind);

}  // namespace tessera::schedule
