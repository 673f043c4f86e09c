// Notes on loops and blocks.

#include "schedule/primitives.h"

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

}  // namespace tessera::schedule
