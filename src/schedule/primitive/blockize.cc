#include <algorithm>

#include "arith/iter_map/iter_map.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/accumulation.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitives.h"
#include "schedule/region.h"
#include "tir/loops/conditions.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

/// An axis of the block as outer * extent(inner) + inner: what the loops outside count and what those inside do.
struct Axis {
  PrimExpr outer;
  Range outer_dom;
  PrimExpr inner;
  Range inner_dom;
  bool is_outer() const { return is_one(inner_dom->extent) && is_zero(inner); }
};
struct Division {
  std::vector<Axis> axes;
  PrimExpr outer_predicate = bool_imm(true), inner_predicate = bool_imm(true);
};

using IsInside = std::function<bool(const VarNode*)>;

bool is_mixed(const PrimExpr& e, const IsInside& is_inside) {
  return uses_var(e, is_inside) && uses_var(e, [&](const VarNode* var) { return !is_inside(var); });
}

/// Each condition stays with the loops it names.
bool divide_predicate(const PrimExpr& predicate, const IsInside& is_inside, Division* out) {
  for (const PrimExpr& condition : loops::conjuncts(predicate)) {
    if (is_mixed(condition, is_inside)) return false;
    PrimExpr& side = uses_var(condition, is_inside) ? out->inner_predicate : out->outer_predicate;
    side = logical_and(side, condition);
  }
  return true;
}

/// Axes that name loops of both sides are digits of them; the others go as they are to the side they name.
bool divide_axes(const Cursor& cursor, const std::vector<const For*>& inside, const IsInside& is_inside,
                 Division* out) {
  const BlockRealize* realize = cursor.realize();
  Array<Var> vars;
  for (const For* loop : inside) vars.push_back(loop->loop_var);
  arith::Analyzer analyzer;
  auto marks = arith::subspace_divide(realize->iter_values, loop_domains(cursor), vars, realize->predicate,
                                      arith::IterMapLevel::Surjective, &analyzer);
  auto domain = [](const arith::IterMark& mark, const Range& whole) {  // of a digit that does not count by ones: all
    auto* sum = mark->source.as<arith::IterSumExprNode>();
    bool counts_by_ones = sum->args.empty() || is_one(sum->args[sum->args.size() - 1]->scale);
    return counts_by_ones ? make_range(sum->base, mark->extent) : whole;
  };
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const Range& whole = cursor.block()->iter_vars[i]->dom;
    if (!marks.empty()) {
      out->axes.push_back({arith::normalize_iter_map_to_expr(marks[i][0]->source), domain(marks[i][0], whole),
                           arith::normalize_iter_map_to_expr(marks[i][1]->source), domain(marks[i][1], whole)});
      continue;
    }
    const PrimExpr value = realize->iter_values[i], zero = make_zero(value.dtype());
    const Range unit = make_range(zero, make_const(value.dtype(), 1));
    if (is_mixed(value, is_inside)) return false;
    out->axes.push_back(uses_var(value, is_inside) ? Axis{zero, unit, value, whole} : Axis{value, whole, zero, unit});
  }
  return true;
}

Division divide(const Cursor& cursor, const std::vector<const For*>& inside) {
  auto is_inside = [&](const VarNode* var) {
    return std::any_of(inside.begin(), inside.end(), [&](const For* loop) { return loop->loop_var.get() == var; });
  };
  Division out;
  if (divide_axes(cursor, inside, is_inside, &out) && divide_predicate(cursor.realize()->predicate, is_inside, &out))
    return out;
  throw Error(ScheduleError) << "the bindings of block " << quoted(cursor.block()->name_hint)
                             << " cannot be divided between the loops outside (" << loop_names(cursor.loops())
                             << " up to " << inside[0]->loop_var->name << ") and those inside (" << loop_names(inside)
                             << "): each axis must be outer * n + inner, and no condition may name loops of both sides";
}

/// The init over the spatial axes of the inner block, in loops and variables of its own.
Stmt init_nest(const BlockNode* block, const Array<PrimExpr>& values, const PrimExpr& predicate,
               const std::vector<const For*>& loops) {
  BlockNode init{.name_hint = block->name_hint + "_init"};
  Map<Var, PrimExpr> axes, vars;
  Array<PrimExpr> bindings;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar iter = block->iter_vars[i];
    if (iter->iter_type == IterType::CommReduce) continue;
    Var var = make_var(iter->var->name + "_init", iter->var->dtype);
    axes.set(iter->var, var);
    init.iter_vars.push_back(with(iter, &IterVarNode::var, var));
    bindings.push_back(values[i]);
  }
  InitLoops own = init_loops(block, values, predicate, loops);
  for (const For* loop : own.loops) vars.set(loop->loop_var, make_var(loop->loop_var->name, loop->loop_var->dtype));
  init.body = substitute_all(block->init, axes);
  for (const BufferRegion& write : block->writes) init.writes.push_back(substitute_all(write, axes));
  for (size_t i = 0; i < bindings.size(); ++i) bindings.set(i, substitute(bindings[i], vars));
  Stmt nest = make(BlockRealize{
      .iter_values = bindings, .predicate = substitute(own.predicate, vars), .block = make(std::move(init))});
  return renamed_loops(own.loops, vars, nest);
}

}  // namespace

/// blockize(j):   for i: for j: with block C: v = i * n + j; S(v)
///            =>  for i: with block C_o: v_o = i; for j: with block C: v_i = j; S(v_o * n + v_i)
/// The new block touches all that its iterations do. The init of a reduction moves to it, over the spatial axes.
/// Requires: one block inside the loop, whose axes and conditions divide between the loops outside and inside.
BlockRef blockize(State& state, const LoopRef& ref) {
  Cursor top = state.find(ref);
  std::vector<Cursor> below = blocks_below(top.stmt(), ref.function);
  if (below.size() != 1)
    throw Error(ScheduleError) << "loop " << ref.var->name << " has " << below.size()
                               << " blocks inside; blockize takes a loop around one block";
  std::vector<const For*> inside;
  for (size_t i = 0; i + 1 < below[0].path.size(); ++i) {
    inside.push_back(below[0].path[i].as<For>());
    if (!inside.back())
      throw Error(ScheduleError) << "between loop " << ref.var->name << " and block "
                                 << quoted(below[0].block()->name_hint) << " there is more than loops";
  }
  Cursor cursor = state.find(State::ref(ref.function, below[0].block()));
  const BlockNode* block = cursor.block();
  Division division = divide(cursor, inside);

  BlockNode outer{.name_hint = block->name_hint + "_o"}, inner(*block);
  inner.iter_vars = {};
  Array<IterVar> inner_iters;
  Array<PrimExpr> outer_values, inner_values;
  Map<Var, PrimExpr> axes;
  bool reduces_outside = false;
  for (size_t i = 0; i < division.axes.size(); ++i) {
    const IterVar iter = block->iter_vars[i];
    const Axis& axis = division.axes[i];
    auto add = [&](Array<IterVar>& iters, const Range& dom, const String& name) {
      iters.push_back(make_iter_var(dom, make_var(name, iter->var->dtype), iter->iter_type));
      return iters.back()->var;
    };
    outer_values.push_back(axis.outer);
    reduces_outside |= iter->iter_type == IterType::CommReduce;
    if (axis.is_outer()) {
      axes.set(iter->var, add(outer.iter_vars, iter->dom, iter->var->name));
      continue;
    }
    Var high = add(outer.iter_vars, axis.outer_dom, iter->var->name + "_o");
    Var low = add(inner_iters, axis.inner_dom, iter->var->name + "_i");
    inner_values.push_back(axis.inner);
    axes.set(iter->var, is_zero(axis.outer) ? PrimExpr(low) : high * axis.inner_dom->extent + low);
  }
  Block moved = substitute_all(make(std::move(inner)), axes);
  BlockNode small(*moved);
  small.iter_vars = inner_iters;
  arith::Analyzer analyzer;
  outer.reads = relax(moved->reads, inner_iters, analyzer);
  outer.writes = relax(moved->writes, inner_iters, analyzer);
  if (block->init && reduces_outside) {
    outer.init = init_nest(&small, inner_values, division.inner_predicate, inside);
    small.init = Stmt();
    small.reads = moved->writes;
    for (const BufferRegion& read : moved->reads) small.reads.push_back(read);
  }
  Block inner_block = make(std::move(small));
  Stmt body =
      make(BlockRealize{.iter_values = inner_values, .predicate = division.inner_predicate, .block = inner_block});
  for (size_t i = inside.size(); i-- > 0;) body = with(inside[i], &For::body, body);
  outer.body = body;
  Block outer_block = make(std::move(outer));
  Stmt fresh =
      make(BlockRealize{.iter_values = outer_values, .predicate = division.outer_predicate, .block = outer_block});
  state.rename(block, inner_block.get());
  state.replace(ref.function, top.stmt(), fresh);
  return State::ref(ref.function, outer_block.get());
}

}  // namespace tessera::schedule
