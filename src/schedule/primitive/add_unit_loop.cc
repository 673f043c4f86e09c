#include "schedule/primitives.h"

namespace tessera::schedule {

/// add_unit_loop(S):   S   =>   for u in range(1): S
LoopRef add_unit_loop(State& state, const Place& place) {
  Var unit = make_var("u");
  state.replace(place.function, place.stmt(), make(For{.loop_var = unit, .min = 0, .extent = 1, .body = place.stmt()}));
  return {place.function, unit};
}

}  // namespace tessera::schedule
