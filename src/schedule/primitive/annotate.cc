// Notes on loops and blocks.

#include "schedule/primitives.h"

namespace tessera::schedule {
namespace {

void set_annotations(State& state, const Cursor& cursor, const Map<String, ObjectRef>& annotations) {
  if (const For* loop = cursor.loop()) {
    state.replace(cursor.function, cursor.stmt(), with(loop, &For::annotations, annotations));
    return;
  }
  Block block = with(cursor.block(), &BlockNode::annotations, annotations);
  state.replace(cursor.function, cursor.stmt(), with(cursor.realize(), &BlockRealize::block, block));
}

const Map<String, ObjectRef>& annotations_of(const Cursor& cursor) {
  return cursor.loop() ? cursor.loop()->annotations : cursor.block()->annotations;
}

}  // namespace

void annotate(State& state, const Cursor& cursor, const String& key, const ObjectRef& value) {
  Map<String, ObjectRef> annotations = annotations_of(cursor);
  annotations.set(key, value);
  set_annotations(state, cursor, annotations);
}

void unannotate(State& state, const Cursor& cursor, const String& key) {
  Map<String, ObjectRef> annotations = annotations_of(cursor);
  if (!annotations.count(key))
    throw Error(RuntimeError) << "unannotate: IndexError: Cannot find annotation key: " << key;
  annotations.erase(key);
  set_annotations(state, cursor, annotations);
}

}  // namespace tessera::schedule
