#pragma once
// What was done to a schedule, as instructions that can be printed, saved and done again.

#include <vector>

#include "ir/prim/expr.h"

namespace tessera::schedule {

struct BlockRVNode : Object {
  static constexpr NodeInfo info{"tir.BlockRV", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using BlockRV = Ref<BlockRVNode>;

struct LoopRVNode : Object {
  static constexpr NodeInfo info{"tir.LoopRV", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using LoopRV = Ref<LoopRVNode>;

struct InstructionKindNode : Object {
  String name;
  static constexpr NodeInfo info{"tir.InstructionKind", &Object::info};
  static void fields(auto f) { f("name", &InstructionKindNode::name); }
};
using InstructionKind = Ref<InstructionKindNode>;

/// One call of a primitive: random variables and values in, settings, random variables out.
struct InstructionNode : Object {
  InstructionKind kind;
  Array<ObjectRef> inputs, attrs, outputs;
  static constexpr NodeInfo info{"tir.Instruction", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("kind", &InstructionNode::kind);
    f("inputs", &InstructionNode::inputs);
    f("attrs", &InstructionNode::attrs);
    f("outputs", &InstructionNode::outputs);
  }
};
using Instruction = Ref<InstructionNode>;

/// Instructions in order, and what sampling instructions decided. Grows with its schedule.
struct TraceNode : Object {
  Array<Instruction> insts;
  Map<Instruction, ObjectRef> decisions;
  static constexpr NodeInfo info{"tir.Trace", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("insts", &TraceNode::insts);
    f("decisions", &TraceNode::decisions);
  }
};
using Trace = Ref<TraceNode>;

/// True for instructions that change nothing and only name or choose something.
bool is_pure(const InstructionNode& inst);
/// True for the instruction from which on post-processing begins.
bool is_postproc(const InstructionNode& inst);
/// The instructions; only those before post-processing where that is to be removed.
std::vector<Instruction> instructions_of(const Trace& trace, bool remove_postproc);

/// One line of Python per instruction: `l4, l5 = sch.split(loop=l1, factors=[None, 16], ...)`.
Array<String> trace_as_python(const Trace& trace, bool remove_postproc = false);
/// One instruction without a trace: what it takes and gives has no names and is written `_`.
String instruction_as_python(const Instruction& inst);
/// `[[[kind, inputs, attrs, outputs], ...], [[index, decision], ...]]`, random variables by name.
Array<ObjectRef> trace_as_json(const Trace& trace, bool remove_postproc = false);
/// The same instructions with another decision for one of them.
Trace trace_with_decision(const Trace& trace, const Instruction& inst, const ObjectRef& decision, bool remove_postproc);
/// Without pure instructions whose results nothing uses.
Trace trace_simplified(const Trace& trace, bool remove_postproc);

}  // namespace tessera::schedule
