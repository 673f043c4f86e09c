#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/layout.h"
#include "schedule/primitives.h"
#include "tir/loops/conditions.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

/// B[...] = if_then_else(condition, inside, value): a copy with a constant around it.
struct Padding {
  const BufferStore* store;
  PrimExpr condition, inside, value;
};

Padding padding_of(const Cursor& cursor) {
  const BlockNode* block = cursor.block();
  auto* store = block->body.as<BufferStore>();
  auto* choice = store ? store->value.as<Call>() : nullptr;
  std::string why_not;
  if (!is_complete(cursor, &why_not))
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " is not complete: " << why_not;
  if (!choice || !choice->op.same_as(builtin::if_then_else()))
    throw Error(ScheduleError) << "block " << quoted(block->name_hint)
                               << " does not pad: it must store if_then_else(condition, value, constant)";
  if (!choice->args[2].as<IntImm>() && !choice->args[2].as<FloatImm>())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " pads with " << choice->args[2]
                               << ", which is not a constant";
  return {store, choice->args[0], choice->args[1], choice->args[2]};
}

/// The part of each axis where the condition holds.
std::vector<Range> inside_of(const BlockNode* block, const PrimExpr& condition, arith::Analyzer& analyzer) {
  Array<Var> vars;
  for (const IterVar& iter : block->iter_vars) vars.push_back(iter->var);
  Array<PrimExpr> ends = arith::detect_clip_bound(condition, vars);
  if (ends.empty())
    throw Error(ScheduleError) << "the condition " << condition << " of block " << quoted(block->name_hint)
                               << " is not a box: it must bound its axes one by one";
  std::vector<Range> out;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const Range dom = block->iter_vars[i]->dom;
    PrimExpr first = dom->min, last = dom->min + dom->extent - 1;
    if (ends[2 * i]) first = analyzer.simplify(max(first, ends[2 * i]));
    if (ends[2 * i + 1]) last = min(last, ends[2 * i + 1]);
    out.push_back(make_range(first, analyzer.simplify(last - first + 1)));
  }
  return out;
}

/// Loops and block of the constant: the same axes, in variables of their own.
Stmt constant_nest(const BlockNode* block, const Padding& padding, const Array<PrimExpr>& values,
                   const PrimExpr& predicate, const std::vector<const For*>& loops) {
  BlockNode fresh{.writes = block->writes, .name_hint = block->name_hint + "_pad_const"};
  Map<Var, PrimExpr> axes, vars;
  for (const IterVar& iter : block->iter_vars) {
    Var var = make_var(iter->var->name, iter->var->dtype);
    axes.set(iter->var, var);
    fresh.iter_vars.push_back(with(iter, &IterVarNode::var, var));
  }
  for (const For* loop : loops) vars.set(loop->loop_var, make_var(loop->loop_var->name, loop->loop_var->dtype));
  fresh.body = substitute_all(Stmt(with(padding.store, &BufferStore::value, padding.value)), axes);
  for (size_t i = 0; i < fresh.writes.size(); ++i) fresh.writes.set(i, substitute_all(fresh.writes[i], axes));
  Array<PrimExpr> bindings;
  for (const PrimExpr& value : values) bindings.push_back(substitute(value, vars));
  Stmt nest = make(
      BlockRealize{.iter_values = bindings, .predicate = substitute(predicate, vars), .block = make(std::move(fresh))});
  return renamed_loops(loops, vars, nest);
}

/// True when the loop only runs the block, and only through this axis.
bool is_own_loop(const Cursor& cursor, size_t axis, const For* loop) {
  const BlockRealize* realize = cursor.realize();
  if (!realize->iter_values[axis].same_as(loop->loop_var) || uses_var(realize->predicate, loop->loop_var)) return false;
  for (size_t i = 0; i < realize->iter_values.size(); ++i)
    if (i != axis && uses_var(realize->iter_values[i], loop->loop_var)) return false;
  Stmt inside = loop->body;
  while (auto* inner = inside.as<For>()) {
    if (uses_var(inner->extent, loop->loop_var)) return false;
    inside = inner->body;
  }
  return inside.get() == realize;
}

}  // namespace

/// decompose_padding(B, i):   for i: B[i] = if_then_else(3 <= i and i < 12, A[i - 3], 0)
///                        =>  for i: B[i] = 0;   for i: B[i + 3] = A[i]
/// The constant is written over the whole of what runs inside the loop, then the values inside. An axis that has a loop
/// of its own is cut short, others get a condition.
/// Requires: the block is complete and pads with a constant outside of a box of its axes; the loop stands around it.
BlockRef decompose_padding(State& state, const BlockRef& ref, const LoopRef& loop_ref) {
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  std::vector<const For*> loops = cursor.loops();
  size_t from = require_loop_around(cursor, loop_ref);
  Padding padding = padding_of(cursor);
  arith::Analyzer analyzer;
  for (size_t i = 0; i < from; ++i) analyzer.bind(loops[i]->loop_var, range_of(loops[i]));
  std::vector<Range> inside = inside_of(block, padding.condition, analyzer);
  std::vector<const For*> inner_loops(loops.begin() + static_cast<long>(from), loops.end());

  Array<PrimExpr> values, bindings;
  for (const PrimExpr& value : cursor.realize()->iter_values) values.push_back(analyzer.simplify(value));
  Stmt constant = constant_nest(block, padding, values, cursor.realize()->predicate, inner_loops);

  // The block over what is inside: axes begin at 0 again.
  BlockNode bare(*block);
  bare.iter_vars = {};
  bare.body = with(padding.store, &BufferStore::value, padding.inside);
  Array<IterVar> iters;
  Map<Var, PrimExpr> axes, at_loops;
  Map<Var, PrimExpr> short_loops;  // extents by loop variable
  std::vector<bool> is_short(block->iter_vars.size());
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar iter = block->iter_vars[i];
    const Range& dom = inside[i];
    bool is_whole =
        analyzer.can_prove_equal(dom->min, iter->dom->min) && analyzer.can_prove_equal(dom->extent, iter->dom->extent);
    Var var = make_var(iter->var->name, iter->var->dtype);
    PrimExpr zero = make_zero(iter->var->dtype);
    iters.push_back(make_iter_var(is_whole ? iter->dom : make_range(zero, dom->extent), var, iter->iter_type));
    axes.set(iter->var, is_whole ? PrimExpr(var) : var + dom->min);
    at_loops.set(iter->var, values[i]);
    const For* own = nullptr;
    for (const For* loop : inner_loops)
      if (is_own_loop(cursor, i, loop) && is_zero(loop->min) && is_zero(iter->dom->min)) own = loop;
    is_short[i] = own && !is_whole;
    if (is_short[i]) short_loops.set(own->loop_var, dom->extent);
    bindings.push_back(is_whole || is_short[i] ? values[i] : analyzer.simplify(values[i] - dom->min));
  }
  PrimExpr guard = loops::conditions_without(padding.condition, [&](const VarNode* var) {
    for (size_t i = 0; i < block->iter_vars.size(); ++i)
      if (block->iter_vars[i]->var.get() == var) return static_cast<bool>(is_short[i]);
    return false;
  });
  guard = logical_and(analyzer.simplify(substitute(guard, at_loops)), cursor.realize()->predicate);
  BlockNode fresh(*with_simple_indices(substitute_all(make(std::move(bare)), axes), analyzer));
  fresh.iter_vars = iters;
  Block fresh_block = make(std::move(fresh));
  Stmt realize = make(BlockRealize{.iter_values = bindings, .predicate = guard, .block = fresh_block});
  Stmt top = state.find(loop_ref).stmt();
  Stmt outer = rewrite(
      top,
      [&](Rewriter& self, const For* node) -> Stmt {
        auto loop = self.children(node);
        PrimExpr extent = short_loops.get_or_null(node->loop_var);
        return extent ? Stmt(with(loop, &For::extent, extent)) : Stmt(loop);
      },
      [&](const BlockRealize* node) -> Stmt { return node == cursor.realize() ? realize : Stmt(node); });
  BlockRef out = State::ref(ref.function, blocks_below(constant, ref.function)[0].block());
  state.rename(block, fresh_block.get());
  state.replace(ref.function, top, sequence({constant, outer}));
  return out;
}

}  // namespace tessera::schedule
