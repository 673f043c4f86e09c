#include "schedule/checks.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"

namespace tessera::schedule {

/// set_scope(B, 0, "shared"): the buffer moves to that memory under the name B_shared.
void set_scope(State& state, const BlockRef& ref, int buffer_index, const String& scope) {
  Cursor cursor = state.find(ref);
  Buffer buffer = buffer_at(cursor.block(), buffer_index, true);
  require_scope(scope);
  const BlockRealize* owner = require_allocated(cursor, buffer);
  if (buffer->scope() == scope.str()) return;
  Buffer fresh = with_scope(buffer, scope);
  state.replace(ref.function, Stmt(owner), replace_buffer(Stmt(owner), buffer, fresh));
}

}  // namespace tessera::schedule
