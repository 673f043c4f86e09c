#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/primitives.h"
#include "tir/loops/loop_map.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

void require_fusible(const For* outer, const For* inner) {
  const String& name = inner->loop_var->name;
  if (!inner->annotations.empty())
    throw Error(ScheduleError) << "loop " << name << " has annotations; fuse it before annotating";
  if (inner->thread_binding)
    throw Error(ScheduleError) << "loop " << name << " is bound to " << inner->thread_binding->thread_tag
                               << "; fuse it before binding";
  if (!is_zero(inner->min)) throw Error(ScheduleError) << "loop " << name << " does not start at 0";
  if (!outer) return;
  if (outer->body.get() != inner)
    throw Error(ScheduleError) << "The loops can't be fused because the outer loop " << outer->loop_var->name
                               << " is not the parent of the inner loop " << name;
  if (uses_var(inner->extent, outer->loop_var))
    throw Error(ScheduleError) << "the extent of loop " << name << " depends on loop " << outer->loop_var->name;
}

}  // namespace

/// fuse(i, j):   for i in range(n): for j in range(m): S(i, j)
///           =>  for i_j_fused in range(n * m): S(i_j_fused // m, i_j_fused % m)
/// The new loop is serial. Requires: each loop is the only statement of the one before it; the extents do not depend on one another.
LoopRef fuse(State& state, const std::vector<LoopRef>& refs, bool preserve_unit_iters) {
  if (refs.empty()) throw Error(ScheduleError) << "fuse needs at least one loop";
  std::vector<Cursor> cursors;
  std::vector<const For*> loops;
  for (const LoopRef& ref : refs) {
    cursors.push_back(state.find(ref));
    loops.push_back(cursors.back().loop());
    require_fusible(loops.size() > 1 ? loops[loops.size() - 2] : nullptr, loops.back());
    for (size_t i = 0; i + 1 < loops.size(); ++i)
      if (uses_var(loops.back()->extent, loops[i]->loop_var))
        throw Error(ScheduleError) << "the extent of loop " << loops.back()->loop_var->name << " depends on loop "
                                   << loops[i]->loop_var->name;
  }
  arith::Analyzer analyzer;
  std::string name;
  PrimExpr extent = make_const(loops[0]->extent.dtype(), 1);
  for (const For* loop : loops) {
    name += loop->loop_var->name.str() + "_";
    extent = extent * loop->extent;
  }
  extent = analyzer.simplify(extent);
  Var fused = make_var(name + "fused", extent.dtype());
  analyzer.bind(fused, make_range(make_zero(extent.dtype()), extent));

  Map<Var, PrimExpr> values;
  PrimExpr rest = fused;
  // Loops of one iteration outside of it leave an index whole: that it is less than a dynamic extent is hard to see later.
  size_t first = 0;
  while (first + 1 < loops.size() && is_one(loops[first]->extent)) ++first;
  for (size_t i = loops.size(); i-- > 0;) {
    if (i < first) {
      values.set(loops[i]->loop_var, make_zero(loops[i]->loop_var->dtype));
      continue;
    }
    auto parts = loops::LoopMap::fuse().axis_indices({rest}, {range_of(loops[0]), range_of(loops[i])}, {});
    values.set(loops[i]->loop_var, cast(loops[i]->loop_var->dtype, analyzer.simplify(i > first ? parts[1] : rest)));
    rest = parts[0];
  }
  Stmt body = substitute_all(loops.back()->body, values);
  body = make(For{.loop_var = fused, .min = make_zero(extent.dtype()), .extent = extent, .body = body});
  body = simplify_bindings(body, cursors[0].loops(), !preserve_unit_iters);
  state.replace(refs[0].function, cursors[0].stmt(), body);
  return {refs[0].function, fused};
}

}  // namespace tessera::schedule
