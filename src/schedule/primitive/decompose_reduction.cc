#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitive_error.h"
#include "schedule/primitives.h"
#include "schedule/scope.h"
#include "tir/loops/conditions.h"
#include "tir/remap.h"

namespace tessera::schedule {

/// decompose_reduction(C, k):   for i: for k: with block C: init: C[i] = 0; C[i] += f(i, k)
///                          =>  for i: { with block C_init: C[i] = 0;  for k: with block C_update: C[i] += f(i, k) }
/// Requires: C is a reduction; the loop stands around it and outside all loops of its reduction axes.
BlockRef decompose_reduction(State& state, const BlockRef& ref, const LoopRef& loop_ref) {
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  const BlockRealize* realize = cursor.realize();
  std::string why_not;
  if (!is_reduction(cursor, &why_not))
    throw Error(ScheduleError) << "The block " << quoted(block->name_hint) << " is not a reduction block: " << why_not;
  std::vector<const For*> loops = cursor.loops();
  size_t from = require_loop_around(cursor, loop_ref);
  for (size_t i = 0; i < block->iter_vars.size(); ++i)
    for (size_t j = 0; j < from && block->iter_vars[i]->iter_type == IterType::CommReduce; ++j)
      if (uses_var(realize->iter_values[i], loops[j]->loop_var))
        throw Error(ScheduleError) << "loop " << loops[from]->loop_var->name << " stands inside loop "
                                   << loops[j]->loop_var->name << " of the reduction axis "
                                   << block->iter_vars[i]->var->name << "; the init must stand outside it";

  for (size_t i = from; i < loops.size(); ++i) {
    bool is_used = is_one(loops[i]->extent);
    for (const PrimExpr& value : realize->iter_values) is_used |= uses_var(value, loops[i]->loop_var);
    if (!is_used)
      throw PrimitiveError(loops[i]) << "loop " << loops[i]->loop_var->name << " repeats the whole of block "
                                     << quoted(block->name_hint) << "; the init must stand inside it";
  }
  require_domain_guard(cursor);

  // The init block: new variables for the spatial axes, and new loops for those of them inside.
  Map<Var, PrimExpr> axes, inner;
  Array<IterVar> iters;
  Array<PrimExpr> values;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar iter = block->iter_vars[i];
    if (iter->iter_type != IterType::DataPar) continue;
    Var var = make_var(iter->var->name, iter->var->dtype);
    axes.set(iter->var, var);
    iters.push_back(with(iter, &IterVarNode::var, var));
    values.push_back(realize->iter_values[i]);
  }
  std::vector<const For*> kept;
  for (size_t i = from; i < loops.size(); ++i) {
    bool is_used = false;
    for (const PrimExpr& value : values) is_used |= uses_var(value, loops[i]->loop_var);
    if (!is_used) continue;
    kept.push_back(loops[i]);
    inner.set(loops[i]->loop_var, make_var(loops[i]->loop_var->name + "_init", loops[i]->loop_var->dtype));
  }
  BlockNode init{.iter_vars = iters, .name_hint = block->name_hint + "_init", .annotations = block->annotations};
  init.body = substitute(block->init, axes);
  for (const BufferRegion& write : block->writes) init.writes.push_back(substitute(write, axes));
  Array<PrimExpr> bindings;
  for (const PrimExpr& value : values) bindings.push_back(substitute(value, inner));
  // Of the predicate only what concerns the init's loops, and what keeps its axes inside their domains.
  for (size_t i = from; i < loops.size(); ++i)
    if (is_one(loops[i]->extent) && !inner.count(loops[i]->loop_var)) inner.set(loops[i]->loop_var, loops[i]->min);
  PrimExpr predicate = loops::conditions_without(realize->predicate, [&](const VarNode* var) {
    for (size_t i = from; i < loops.size(); ++i)
      if (loops[i]->loop_var.get() == var) return !inner.count(loops[i]->loop_var);
    return false;
  });
  predicate = substitute(predicate, inner);
  for (size_t i = 0; i < iters.size(); ++i) {
    arith::Analyzer analyzer;
    for (const For* loop : loops) {
      analyzer.bind(loop->loop_var, range_of(loop));
      Var own = downcast_or_null<Var>(inner.get_or_null(loop->loop_var));
      if (own) analyzer.bind(own, range_of(loop));
    }
    auto known = analyzer.assume(predicate);
    Range dom = iters[i]->dom;
    for (const PrimExpr& inside : {bindings[i] >= dom->min, bindings[i] < dom->min + dom->extent})
      if (!analyzer.can_prove(inside)) predicate = logical_and(predicate, inside);
  }
  Block init_block = make(std::move(init));
  Stmt init_nest = make(BlockRealize{.iter_values = bindings, .predicate = predicate, .block = init_block});
  init_nest = renamed_loops(kept, inner, init_nest);

  // The update block: no init any more, so it is said to read what it adds to.
  BlockNode update(*block);
  update.init = Stmt();
  update.name_hint = block->name_hint + "_update";
  update.reads = block->writes;
  for (const BufferRegion& read : block->reads) update.reads.push_back(read);
  state.replace(ref.function, cursor.stmt(), with(realize, &BlockRealize::block, make(std::move(update))));
  Stmt outer = state.find(loop_ref).stmt();
  state.replace(ref.function, outer, sequence({init_nest, outer}));
  return State::ref(ref.function, init_block.get());
}

}  // namespace tessera::schedule
