// How the iterations of a loop run.

#include "schedule/legality.h"
#include "schedule/primitives.h"

namespace tessera::schedule {
namespace {

void require_independent(const Cursor& cursor, const char* what, bool shares_reductions) {
  std::string why_not;
  if (!has_independent_iterations(cursor, shares_reductions, &why_not))
    throw Error(ScheduleError) << "The " << quoted(what) << " cannot be fulfilled with regard to loop "
                               << cursor.loop()->loop_var->name << " because " << why_not;
}

void set_kind(State& state, const Cursor& cursor, LoopKind kind) {
  For loop(*cursor.loop());
  loop.kind = kind;
  loop.thread_binding = IterVar();
  state.replace(cursor.function, cursor.stmt(), make(std::move(loop)));
}

}  // namespace

/// parallel(i):   for i in range(n)   =>   for i in parallel(n).   Requires: iterations are independent.
void parallel(State& state, const LoopRef& ref) {
  Cursor cursor = state.find(ref);
  require_independent(cursor, "parallel", false);
  set_kind(state, cursor, LoopKind::Parallel);
}

/// vectorize(i):   for i in range(n)   =>   for i in vectorized(n).   Requires: iterations are independent.
void vectorize(State& state, const LoopRef& ref) {
  Cursor cursor = state.find(ref);
  require_independent(cursor, "vectorize", false);
  set_kind(state, cursor, LoopKind::Vectorized);
}

/// unroll(i):   for i in range(n)   =>   for i in unroll(n)
void unroll(State& state, const LoopRef& ref) { set_kind(state, state.find(ref), LoopKind::Unrolled); }

/// bind(i, "threadIdx.x"):   for i in range(n)   =>   for i in thread_binding(n, "threadIdx.x")
/// Requires: iterations are independent; threads of one block may share a reduction.
void bind(State& state, const LoopRef& ref, const String& thread_axis) {
  Cursor cursor = state.find(ref);
  require_independent(cursor, "bind", std::string_view(thread_axis).starts_with("threadIdx"));
  For loop(*cursor.loop());
  loop.kind = LoopKind::ThreadBinding;
  loop.thread_binding =
      make_iter_var(Range(), make_var(thread_axis, loop.loop_var->dtype), IterType::ThreadIndex, thread_axis);
  state.replace(cursor.function, cursor.stmt(), make(std::move(loop)));
}

}  // namespace tessera::schedule
