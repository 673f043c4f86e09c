#include "schedule/primitives.h"

namespace tessera::schedule {

/// add_unit_loop(S):   S   =>   for u in range(1): S
LoopRef add_unit_loop(State& state, const Cursor& cursor) {
  Var unit = make_var("u");
  state.replace(cursor.function, cursor.stmt(),
                make(For{.loop_var = unit, .min = 0, .extent = 1, .body = cursor.stmt()}));
  return {cursor.function, unit};
}

}  // namespace tessera::schedule
