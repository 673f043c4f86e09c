#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/legality.h"
#include "schedule/primitives.h"
#include "tir/loops/loop_map.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

void require_plain(const For* loop) {
  const String& name = loop->loop_var->name;
  if (!loop->annotations.empty())
    throw Error(ScheduleError) << "loop " << name << " has annotations; split it before annotating";
  if (loop->thread_binding)
    throw Error(ScheduleError) << "loop " << name << " is bound to " << loop->thread_binding->thread_tag
                               << "; split it before binding";
  if (!is_zero(loop->min)) throw Error(ScheduleError) << "loop " << name << " does not start at 0";
}

/// The factors with the empty one filled in; their product covers the loop.
std::vector<PrimExpr> whole_factors(const For* loop, const std::vector<PrimExpr>& given, arith::Analyzer& analyzer) {
  PrimExpr product = make_const(loop->extent.dtype(), 1);
  int unknown = -1;
  std::vector<PrimExpr> out;
  for (size_t i = 0; i < given.size(); ++i) {
    PrimExpr factor = given[i] ? cast(loop->extent.dtype(), given[i]) : given[i];
    if (!factor || is_const_int(factor, -1)) {
      if (unknown >= 0) throw Error(ScheduleError) << "Only one factor can be specified as -1 or none";
      unknown = static_cast<int>(i);
      factor = PrimExpr();
    } else if (!analyzer.can_prove(factor > 0)) {
      throw Error(ScheduleError) << "factor " << factor << " of loop " << loop->loop_var->name
                                 << " is not known to be positive";
    } else {
      product = product * factor;
    }
    out.push_back(factor);
  }
  if (out.empty()) throw Error(ScheduleError) << "split needs at least one factor";
  if (unknown >= 0) {
    out[static_cast<size_t>(unknown)] = loops::ceil_quotient(loop->extent, product, analyzer);
  } else if (!analyzer.can_prove(product >= loop->extent)) {
    throw Error(ScheduleError) << "The product of factors is not larger than or equal to the extent of loop "
                               << loop->loop_var->name << ": " << analyzer.simplify(product) << " against "
                               << loop->extent;
  }
  return out;
}

}  // namespace

/// split(i, [a, b]):   for i in range(n): S(i)
///                 =>  for i_0 in range(a): for i_1 in range(b): S(i_0 * b + i_1)
/// The new loops are serial. Blocks below get the condition i_0 * b + i_1 < n unless a * b is known to be n.
/// Requires: i starts at 0, is not bound to a thread and carries no annotations.
std::vector<LoopRef> split(State& state, const LoopRef& ref, const std::vector<PrimExpr>& given,
                           bool preserve_unit_iters) {
  Cursor cursor = state.find(ref);
  const For* loop = cursor.loop();
  require_plain(loop);
  arith::Analyzer analyzer;
  std::vector<PrimExpr> factors = whole_factors(loop, given, analyzer);

  std::vector<Var> vars;
  PrimExpr index = make_zero(loop->loop_var->dtype);
  for (size_t i = 0; i < factors.size(); ++i) {
    vars.push_back(make_var(loop->loop_var->name + "_" + std::to_string(i), loop->loop_var->dtype));
    Range domain = make_range(make_zero(factors[i].dtype()), factors[i]);
    analyzer.bind(vars[i], domain);
    index = loops::LoopMap::split(factors[i]).axis_indices({index, vars[i]}, {range_of(loop)}, {Range(), domain})[0];
  }
  Stmt body = substitute_all(loop->body, {{loop->loop_var, index}});
  PrimExpr guard = index < loop->extent;
  bool is_guarded = !analyzer.can_prove(guard);
  if (is_guarded && loose_statement(loop->body))
    throw Error(ScheduleError) << "loop " << loop->loop_var->name << " holds a statement outside any block, "
                               << loose_statement(loop->body)->type_key()
                               << ", which would need a guard; split it by factors that divide its extent";
  if (is_guarded)
    body = map_blocks(body, [&](const BlockRealize* realize) -> Stmt {
      return with(realize, &BlockRealize::predicate, logical_and(realize->predicate, guard));
    });
  for (size_t i = factors.size(); i-- > 0;)
    body = make(For{.loop_var = vars[i], .min = make_zero(factors[i].dtype()), .extent = factors[i], .body = body});
  body = simplify_bindings(body, cursor.loops(), !preserve_unit_iters);
  state.replace(ref.function, cursor.stmt(), body);
  std::vector<LoopRef> out;
  for (const Var& var : vars) out.push_back({ref.function, var});
  return out;
}

}  // namespace tessera::schedule
