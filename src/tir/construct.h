#pragma once
// Nodes made from what a user hands in: every part is checked, and an error says which part is wrong and why. Code
// that builds from parts it knows to be right uses `make` directly.

#include "tir/function.h"

namespace tessera {

PrimExpr checked_load(Buffer buffer, Array<PrimExpr> indices);
Stmt checked_store(Buffer buffer, PrimExpr value, Array<PrimExpr> indices);
Stmt checked_for(Var loop_var, PrimExpr min, PrimExpr extent, LoopKind kind, Stmt body, IterVar thread_binding,
                 Map<String, ObjectRef> annotations);
Stmt checked_allocate(Var buffer_var, DataType dtype, Array<PrimExpr> extents, PrimExpr condition, Stmt body,
                      Map<String, ObjectRef> annotations);
IterVar checked_iter_var(Range dom, Var var, IterType type, String thread_tag);
PrimExpr checked_reduce(CommReducer combiner, Array<PrimExpr> source, Array<IterVar> axis, PrimExpr condition,
                        int value_index, Array<PrimExpr> init);
/// Every field as v0.10's constructor takes it: 0 and empty references mean the defaults.
Buffer checked_buffer(Var data, DataType dtype, Array<PrimExpr> shape, Array<PrimExpr> strides, PrimExpr elem_offset,
                      String name, int data_alignment, int offset_factor, BufferType buffer_type,
                      Array<PrimExpr> axis_separators);

}  // namespace tessera
