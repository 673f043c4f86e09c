#include "ir/prim/ops.h"
#include "schedule/checks.h"
#include "schedule/layout.h"
#include "schedule/primitives.h"

namespace tessera::schedule {

/// set_axis_separator(B, ("write", 0), [1]):   B of shape (a, b)   =>   B with two physical dimensions, a and b
/// Flattening makes one dimension of the axes between two separators.
void set_axis_separator(State& state, const BlockRef& ref, int buffer_index, bool is_write,
                        const Array<PrimExpr>& separators) {
  Cursor cursor = state.find(ref);
  Buffer buffer = buffer_at(cursor.block(), buffer_index, is_write);
  int64_t last = 0;
  for (const PrimExpr& separator : separators) {
    auto* at = as_int(separator);
    if (!at || *at < last || *at > static_cast<int64_t>(buffer->shape.size()))
      throw Error(ScheduleError) << "axis separators are positions in ascending order, from 0 to "
                                 << buffer->shape.size() << ", the rank of " << buffer->name << "; " << separator
                                 << " is not";
    last = *at;
  }
  change_layout(state, cursor, buffer, with(buffer, &BufferNode::axis_separators, separators), IndexMap());
}

}  // namespace tessera::schedule
