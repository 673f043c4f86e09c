#include <algorithm>

#include "arith/iter_map.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/primitives.h"
#include "schedule/region.h"
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

/// Whole axes go to the side whose loops they name.
bool divide_whole_axes(const Place& place, const std::function<bool(const VarNode*)>& is_inside, Division* out) {
  auto is_outside = [&](const VarNode* var) { return !is_inside(var); };
  auto is_mixed = [&](const PrimExpr& e) { return uses_var(e, is_inside) && uses_var(e, is_outside); };
  for (size_t i = 0; i < place.block()->iter_vars.size(); ++i) {
    const PrimExpr value = place.realize()->iter_values[i], zero = make_zero(value.dtype());
    const Range dom = place.block()->iter_vars[i]->dom, unit = make_range(zero, make_const(value.dtype(), 1));
    if (is_mixed(value)) return false;
    out->axes.push_back(uses_var(value, is_inside) ? Axis{zero, unit, value, dom} : Axis{value, dom, zero, unit});
  }
  const PrimExpr& predicate = place.realize()->predicate;
  if (is_mixed(predicate)) return false;
  (uses_var(predicate, is_inside) ? out->inner_predicate : out->outer_predicate) = predicate;
  return true;
}

Division divide(const Place& place, const std::vector<const For*>& inside) {
  Array<Var> vars;
  for (const For* loop : inside) vars.push_back(loop->loop_var);
  auto is_inside = [&](const VarNode* var) {
    return std::any_of(inside.begin(), inside.end(), [&](const For* loop) { return loop->loop_var.get() == var; });
  };
  arith::Analyzer analyzer;
  auto marks = arith::subspace_divide(place.realize()->iter_values, loop_domains(place), vars,
                                      place.realize()->predicate, arith::IterMapLevel::Surjective, &analyzer);
  Division out;
  if (!marks.empty()) {
    auto domain = [](const arith::IterMark& mark) {
      return make_range(mark->source.as<arith::IterSumExprNode>()->base, mark->extent);
    };
    for (size_t i = 0; i + 1 < marks.size(); ++i)
      out.axes.push_back({arith::normalize_iter_map_to_expr(marks[i][0]->source), domain(marks[i][0]),
                          arith::normalize_iter_map_to_expr(marks[i][1]->source), domain(marks[i][1])});
    out.outer_predicate = marks.back()[0]->extent;
    out.inner_predicate = marks.back()[1]->extent;
    if (!uses_var(out.inner_predicate, [&](const VarNode* var) { return !is_inside(var); })) return out;
  }
  out = Division();
  if (divide_whole_axes(place, is_inside, &out)) return out;
  throw Error(ScheduleError) << "the bindings of block " << quoted(place.block()->name_hint)
                             << " cannot be divided between the loops outside (" << loop_names(place.loops())
                             << " up to " << inside[0]->loop_var->name << ") and those inside (" << loop_names(inside)
                             << "): each axis must be outer * n + inner, and no condition may "
                             << "name loops of both sides";
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
  std::vector<const For*> kept;
  for (const For* loop : loops) {
    bool is_used = false;
    for (const PrimExpr& value : bindings) is_used |= uses_var(value, loop->loop_var);
    if (!is_used) continue;
    kept.push_back(loop);
    vars.set(loop->loop_var, make_var(loop->loop_var->name, loop->loop_var->dtype));
  }
  auto is_dropped = [&](const VarNode* var) {
    return std::any_of(loops.begin(), loops.end(),
                       [&](const For* loop) { return loop->loop_var.get() == var && !vars.count(loop->loop_var); });
  };
  init.body = substitute_all(block->init, axes);
  for (const BufferRegion& write : block->writes) init.writes.push_back(substitute_all(write, axes));
  for (size_t i = 0; i < bindings.size(); ++i) bindings.set(i, substitute(bindings[i], vars));
  Stmt nest = make(BlockRealize{.iter_values = bindings,
                                .predicate = substitute(conditions_without(predicate, is_dropped), vars),
                                .block = make(std::move(init))});
  for (size_t i = kept.size(); i-- > 0;) {
    For loop(*kept[i]);
    loop.loop_var = downcast<Var>(vars[kept[i]->loop_var]);
    loop.extent = substitute(loop.extent, vars);
    loop.body = nest;
    nest = make(std::move(loop));
  }
  return nest;
}

}  // namespace

/// blockize(j):   for i: for j: with block C: v = i * n + j; S(v)
///            =>  for i: with block C_o: v_o = i; for j: with block C: v_i = j; S(v_o * n + v_i)
/// The new block touches all that its iterations do. The init of a reduction moves to it, over the spatial axes.
/// Requires: one block inside the loop, whose axes and conditions divide between the loops outside and inside.
BlockRef blockize(State& state, const LoopRef& ref) {
  Place top = state.find(ref);
  std::vector<Place> below = blocks_below(top.stmt(), ref.function);
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
  Place place = state.find(State::ref(ref.function, below[0].block()));
  const BlockNode* block = place.block();
  Division division = divide(place, inside);

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
