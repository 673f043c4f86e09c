#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/accumulation.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitive_error.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "tir/flat_sequence.h"
#include "tir/loops/conditions.h"
#include "tir/loops/factor.h"

namespace tessera::schedule {
namespace {

/// The loop serves reduction axes only, and no loop around the block serves axes of both kinds.
void require_reduction_loop(const Cursor& cursor, const For* factor) {
  const BlockNode* block = cursor.block();
  for (const For* loop : cursor.loops()) {
    const IterVarNode *spatial = nullptr, *reduced = nullptr;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      if (!uses_var(cursor.realize()->iter_values[i], loop->loop_var)) continue;
      (block->iter_vars[i]->iter_type == IterType::DataPar ? spatial : reduced) = block->iter_vars[i].get();
    }
    const String& name = loop->loop_var->name;
    if (loop == factor && spatial)
      throw PrimitiveError(loop) << "loop " << name << " belongs to the spatial axis " << spatial->var->name
                                 << " of block " << quoted(block->name_hint)
                                 << "; rfactor takes a loop of reduction axes only";
    if (loop == factor && !reduced)
      throw PrimitiveError(loop) << "loop " << name << " belongs to no reduction axis of block "
                                 << quoted(block->name_hint);
    if (spatial && reduced)
      throw PrimitiveError(loop) << "loop " << name << " belongs to the spatial axis " << spatial->var->name
                                 << " and to the reduction axis " << reduced->var->name << " of block "
                                 << quoted(block->name_hint) << "; rfactor cannot part them";
  }
}

/// Rejects a condition that could keep an iteration of `factor` from ever running, its partial result without a value.
void require_reached(const Cursor& cursor, const For* factor, const std::vector<const For*>& reduced) {
  arith::Analyzer analyzer;
  Map<Var, PrimExpr> first;
  for (const For* loop : cursor.loops()) analyzer.bind(loop->loop_var, range_of(loop));
  for (const For* loop : reduced)
    if (loop != factor) first.set(loop->loop_var, loop->min);
  auto is_reduced = [&](const VarNode* var) {
    return std::any_of(reduced.begin(), reduced.end(), [&](const For* loop) { return loop->loop_var.get() == var; });
  };
  bool is_reached = true;
  for (const PrimExpr& condition : loops::conjuncts(cursor.realize()->predicate))
    if (uses_var(condition, is_reduced)) is_reached &= analyzer.can_prove(substitute(condition, first));
  if (!is_reached)
    throw Error(ScheduleError) << "the condition " << cursor.realize()->predicate << " of block "
                               << quoted(cursor.block()->name_hint) << " may leave iterations of loop "
                               << factor->loop_var->name << " without work, so their partial results have no value";
}

}  // namespace

/// rfactor(k, axis):   for i: for r: for k: C[i] += f(i, r, k)
///                 =>  for i: for r: for k: C_rf[k, i] += f(i, r, k);  for i: for k: C[i] += C_rf[k, i]
/// so that iterations of k become independent; the index k stands at `axis` of C_rf.
/// Requires: a reduction in a known way (accumulation.h), alone in its loops; k belongs to its reduction axes only.
BlockRef rfactor(State& state, const LoopRef& loop_ref, int factor_axis) {
  Cursor loop_cursor = state.find(loop_ref);
  std::vector<Cursor> below = blocks_below(loop_cursor.stmt(), loop_ref.function);
  if (below.size() != 1)
    throw Error(ScheduleError) << "loop " << loop_ref.var->name << " has " << below.size() << " blocks inside, not one";
  BlockRef ref = State::ref(loop_ref.function, below[0].block());
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  const BlockRealize* realize = cursor.realize();
  const For* factor = loop_cursor.loop();
  std::string why_not;
  if (!is_reduction(cursor, &why_not))
    throw Error(ScheduleError) << "The block " << quoted(block->name_hint) << " is not a reduction block: " << why_not;
  require_known_block(cursor);
  require_reduction_loop(cursor, factor);
  std::vector<Accumulated> results = accumulation_of(block);
  const Buffer& buffer = results[0].buffer;
  int rank = static_cast<int>(buffer->shape.size());
  std::optional<size_t> axis = loops::factor_position(factor_axis, buffer->shape.size());
  if (!axis)
    throw Error(ScheduleError) << "The write buffer " << buffer->name << " has " << rank
                               << " dimension(s), so `factor_axis` is required to be in [" << -rank - 1 << ", " << rank
                               << "] for rfactor, not " << factor_axis;
  std::vector<const For*> loops = cursor.loops();
  size_t top = cursor.path.size() - 1;
  while (top > 0 && cursor.path[top - 1].as<For>()) --top;
  if (cursor.path.size() - 1 - top != loops.size())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " is not alone in its loops";
  for (const For* loop : loops)
    if (uses_var(factor->extent, loop->loop_var))
      throw PrimitiveError(factor) << "the extent of loop " << factor->loop_var->name << " depends on loop "
                                   << loop->loop_var->name
                                   << ", so there is no buffer with that axis; split it and factor the "
                                   << "inner part";

  // In the first block, axes that the factor takes apart are replaced by their loops.
  std::vector<Buffer> partials;
  for (const Accumulated& result : results)
    partials.push_back(decl_buffer(loops::with_factor(result.buffer->shape, *axis, factor->extent),
                                   result.buffer->dtype, result.buffer->name + "_rf", result.buffer->scope()));
  auto axis_of = [](const For* loop, IterType type) {
    return make_iter_var(range_of(loop), make_var("v" + loop->loop_var->name.str(), loop->loop_var->dtype), type);
  };
  IterVar rf_index = axis_of(factor, IterType::DataPar), wb_index = axis_of(factor, IterType::CommReduce);
  PrimExpr rf_at = rf_index->var - factor->min, wb_at = wb_index->var - factor->min;
  Map<Var, PrimExpr> own, loop_axes{{factor->loop_var, rf_index->var}};
  Array<IterVar> rf_iters{rf_index}, wb_iters{wb_index};
  Array<PrimExpr> rf_values{factor->loop_var}, wb_values;
  std::vector<const For*> wb_loops, reduced;
  Map<Var, PrimExpr> wb_vars;
  auto has_part = [&](size_t i, size_t j) { return uses_var(realize->iter_values[i], loops[j]->loop_var); };
  for (size_t j = 0; j < loops.size(); ++j) {
    const For* loop = loops[j];
    bool is_reduced = false;
    for (size_t i = 0; i < block->iter_vars.size(); ++i)
      is_reduced |= block->iter_vars[i]->iter_type == IterType::CommReduce && has_part(i, j);
    if (is_reduced) reduced.push_back(loop);
    if (is_reduced && loop != factor) continue;
    wb_loops.push_back(loop);
    wb_vars.set(loop->loop_var, make_var(loop->loop_var->name, loop->loop_var->dtype));
  }
  wb_values.push_back(wb_vars[factor->loop_var]);
  size_t depth = static_cast<size_t>(std::find(loops.begin(), loops.end(), factor) - loops.begin());
  loops::FactoredAxes factored = loops::factor_axes(block->iter_vars.size(), loops.size(), depth, has_part);
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar iter = block->iter_vars[i];
    const PrimExpr value = realize->iter_values[i];
    if (iter->iter_type == IterType::DataPar) {
      wb_iters.push_back(iter);
      wb_values.push_back(substitute(value, wb_vars));
    }
    if (factored.axes[i]) {
      for (size_t j = 0; j < loops.size(); ++j) {
        const Var& var = loops[j]->loop_var;
        if (loop_axes.count(var) || !has_part(i, j)) continue;
        IterVar added = axis_of(loops[j], IterType::CommReduce);
        loop_axes.set(var, added->var);
        rf_iters.push_back(added);
        rf_values.push_back(var);
      }
      own.set(iter->var, substitute(value, loop_axes));
      continue;
    }
    Var var = make_var(iter->var->name, iter->var->dtype);
    own.set(iter->var, var);
    rf_iters.push_back(with(iter, &IterVarNode::var, var));
    rf_values.push_back(value);
  }

  require_reached(cursor, factor, reduced);
  auto partial_of = [&](const Buffer& buffer) -> const Buffer* {
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].buffer.same_as(buffer)) return &partials[i];
    return nullptr;
  };
  auto into_partial = [&](const Stmt& stmt) {
    return rewrite(
        substitute(stmt, own),
        [&](Rewriter& self, const BufferLoad* node) -> PrimExpr {
          auto load = self.children(node);
          const Buffer* partial = partial_of(load->buffer);
          if (!partial) return PrimExpr(load.get());
          return make_load(*partial, loops::with_factor(load->indices, *axis, rf_at));
        },
        [&](Rewriter& self, const BufferStore* node) -> Stmt {
          auto store = self.children(node);
          return make(BufferStore{.buffer = *partial_of(store->buffer),
                                  .value = store->value,
                                  .indices = loops::with_factor(store->indices, *axis, rf_at)});
        });
  };
  BlockNode rf(*block);
  rf.iter_vars = rf_iters;
  rf.name_hint = block->name_hint + "_rf";
  rf.init = into_partial(block->init);
  rf.body = into_partial(block->body);
  rf.writes = {};
  BlockNode wb(*block);
  wb.iter_vars = wb_iters;
  wb.reads = {};
  Array<PrimExpr> parts_read;
  for (size_t i = 0; i < results.size(); ++i) {
    Array<PrimExpr> rf_indices, from = loops::with_factor(results[i].indices, *axis, wb_at);
    for (const PrimExpr& index : results[i].indices) rf_indices.push_back(substitute(index, own));
    rf.writes.push_back(point_region(partials[i], loops::with_factor(rf_indices, *axis, rf_at)));
    wb.reads.push_back(point_region(partials[i], from));
    parts_read.push_back(make_load(partials[i], from));
  }
  wb.body = with_elements(results, parts_read);
  Block rf_block = with_found_reads(make(std::move(rf)));
  PrimExpr wb_predicate = loops::conditions_without(realize->predicate, [&](const VarNode* var) {
    return std::any_of(reduced.begin(), reduced.end(), [&](const For* loop) { return loop->loop_var.get() == var; });
  });
  Stmt nest = make(BlockRealize{
      .iter_values = wb_values, .predicate = substitute(wb_predicate, wb_vars), .block = make(std::move(wb))});
  for (size_t i = wb_loops.size(); i-- > 0;)
    nest = make(For{.loop_var = downcast<Var>(wb_vars[wb_loops[i]->loop_var]),
                    .min = wb_loops[i]->min,
                    .extent = substitute(wb_loops[i]->extent, wb_vars),
                    .body = nest});

  Stmt first = make(BlockRealize{.iter_values = rf_values, .predicate = realize->predicate, .block = rf_block});
  for (size_t i = loops.size(); i-- > 0;) first = with(loops[i], &For::body, first);
  const BlockRealize* scope = cursor.scope();
  Stmt parts = rewrite(
      scope->block->body,
      [&](Rewriter& self, const For* node) -> Stmt {
        return node == loops[0] ? sequence({first, nest}) : Stmt(self.children(node));
      },
      flat_sequence);
  BlockNode outer(*scope->block);
  outer.body = parts;
  for (const Buffer& partial : partials) outer.alloc_buffers.push_back(partial);
  state.replace(ref.function, Stmt(scope), with(scope, &BlockRealize::block, make(std::move(outer))));
  return State::ref(ref.function, rf_block.get());
}

}  // namespace tessera::schedule
