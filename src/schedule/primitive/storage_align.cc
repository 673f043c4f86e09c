#include "ir/prim/ops.h"
#include "schedule/checks.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"

namespace tessera::schedule {

/// Rows of the buffer along `axis` begin at multiples of `factor`, plus `offset`: a note for lowering.
void storage_align(State& state, const BlockRef& ref, int buffer_index, int axis, int factor, int offset) {
  Cursor cursor = state.find(ref);
  Buffer buffer = buffer_at(cursor.block(), buffer_index, true);
  int rank = static_cast<int>(buffer->shape.size());
  if (factor <= 0)
    throw Error(ScheduleError) << "The input `factor` of storage_align is expected to be a positive number, not "
                               << factor;
  if (axis < -rank || axis >= rank)
    throw Error(ScheduleError) << "axis " << axis << " is not one of the " << rank << " axes of buffer "
                               << buffer->name;
  if (axis < 0) axis += rank;
  require_allocated(cursor, buffer);
  Array<ObjectRef> rows;
  const String key = "buffer_dim_align";
  if (ObjectRef old = cursor.block()->annotations.get_or_null(key)) rows = Array<ObjectRef>(old.as<ArrayNode>());
  Array<PrimExpr> row{PrimExpr(buffer_index), PrimExpr(axis), PrimExpr(factor), PrimExpr(offset)};
  Array<ObjectRef> kept;
  for (const ObjectRef& other : rows) {
    Array<PrimExpr> old(other.as<ArrayNode>());
    if (!is_const_int(old[0], buffer_index) || !is_const_int(old[1], axis)) kept.push_back(other);
  }
  kept.push_back(row);
  annotate(state, cursor, key, kept);
}

}  // namespace tessera::schedule
