// Notes on loops and blocks, and where buffers live.

#include "ir/prim_ops.h"
#include "schedule/checks.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "tir/attrs.h"

namespace tessera::schedule {
namespace {

void set_annotations(State& state, const Place& place, const Map<String, ObjectRef>& annotations) {
  if (const For* loop = place.loop()) {
    state.replace(place.function, place.stmt(), with(loop, &For::annotations, annotations));
    return;
  }
  Block block = with(place.block(), &BlockNode::annotations, annotations);
  state.replace(place.function, place.stmt(), with(place.realize(), &BlockRealize::block, block));
}

const Map<String, ObjectRef>& annotations_of(const Place& place) {
  return place.loop() ? place.loop()->annotations : place.block()->annotations;
}

}  // namespace

void annotate(State& state, const Place& place, const String& key, const ObjectRef& value) {
  Map<String, ObjectRef> annotations = annotations_of(place);
  annotations.set(key, value);
  set_annotations(state, place, annotations);
}

void unannotate(State& state, const Place& place, const String& key) {
  Map<String, ObjectRef> annotations = annotations_of(place);
  if (!annotations.count(key)) throw Error(RuntimeError) << "IndexError: Cannot find annotation key: " << key;
  annotations.erase(key);
  set_annotations(state, place, annotations);
}

/// Rows of the buffer along `axis` begin at multiples of `factor`, plus `offset`: a note for lowering.
void storage_align(State& state, const BlockRef& ref, int buffer_index, int axis, int factor, int offset) {
  Place place = state.find(ref);
  Buffer buffer = buffer_at(place.block(), buffer_index, true);
  int rank = static_cast<int>(buffer->shape.size());
  if (factor <= 0)
    throw Error(ScheduleError) << "The input `factor` of storage_align is expected to be a positive number, not "
                               << factor;
  if (axis < -rank || axis >= rank)
    throw Error(ScheduleError) << "axis " << axis << " is not one of the " << rank << " axes of buffer "
                               << buffer->name;
  if (axis < 0) axis += rank;
  require_allocated(place, buffer);
  Array<ObjectRef> rows;
  const String key = "buffer_dim_align";
  if (ObjectRef old = place.block()->annotations.get_or_null(key)) rows = Array<ObjectRef>(old.as<ArrayNode>());
  Array<PrimExpr> row{PrimExpr(buffer_index), PrimExpr(axis), PrimExpr(factor), PrimExpr(offset)};
  Array<ObjectRef> kept;
  for (const ObjectRef& other : rows) {
    Array<PrimExpr> old(other.as<ArrayNode>());
    if (!is_const_int(old[0], buffer_index) || !is_const_int(old[1], axis)) kept.push_back(other);
  }
  kept.push_back(row);
  annotate(state, place, key, kept);
}

/// set_scope(B, 0, "shared"): the buffer moves to that memory under the name B_shared.
void set_scope(State& state, const BlockRef& ref, int buffer_index, const String& scope) {
  Place place = state.find(ref);
  Buffer buffer = buffer_at(place.block(), buffer_index, true);
  require_scope(scope);
  const BlockRealize* owner = require_allocated(place, buffer);
  if (buffer->scope() == scope.str()) return;
  Buffer fresh = with_scope(buffer, scope);
  state.replace(ref.function, Stmt(owner), replace_buffer(Stmt(owner), buffer, fresh));
}

}  // namespace tessera::schedule
