#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/legality.h"
#include "schedule/primitives.h"
#include "schedule/scope.h"

namespace tessera::schedule {
namespace {

/// The chain of loops from the outermost to the innermost of those named, each the only statement of the last.
std::vector<const For*> chain_of(const State& state, const std::vector<LoopRef>& refs) {
  std::unordered_set<const Object*> wanted;
  for (const LoopRef& ref : refs)
    if (!wanted.insert(ref.var.get()).second)
      throw Error(ScheduleError) << "Loop " << ref.var->name << " appears in the input array for multiple times";
  Cursor deepest = state.find(refs[0]);
  for (const LoopRef& ref : refs) {
    Cursor cursor = state.find(ref);
    if (cursor.path.size() > deepest.path.size()) deepest = cursor;
  }
  std::vector<const For*> chain;
  size_t found = 0;
  for (size_t i = deepest.path.size(); i-- > 0 && found < wanted.size();) {
    auto* loop = deepest.path[i].as<For>();
    if (!loop)
      throw Error(ScheduleError) << "The loops are not in a chain because they are not under the same scope or a loop "
                                    "between them has more than one statement";
    chain.insert(chain.begin(), loop);
    found += wanted.count(loop->loop_var.get());
  }
  if (found < wanted.size())
    throw Error(ScheduleError) << "The loops are not in a chain because they are not under the same scope";
  return chain;
}

void require_reorderable_blocks(const Cursor& innermost, const For* outermost) {
  for (Cursor below : blocks_below(innermost.loop()->body, innermost.function)) {
    std::vector<Stmt> path = innermost.path;
    path.insert(path.end(), below.path.begin(), below.path.end());
    Cursor block{innermost.function, path};
    for (const IterVar& iter : block.block()->iter_vars)
      if (iter->iter_type != IterType::DataPar && iter->iter_type != IterType::CommReduce)
        throw Error(ScheduleError) << "axis " << iter->var->name << " of block " << quoted(block.block()->name_hint)
                                   << " is neither spatial nor a reduction, so its loops keep their order";
    // Loops outside those that move stay as they are, whatever is bound to them.
    std::vector<const For*> loops = block.loops();
    loops.erase(loops.begin(), std::find(loops.begin(), loops.end(), outermost));
    Map<Var, Range> domains;
    for (const For* loop : loops) domains.set(loop->loop_var, range_of(loop));
    if (!are_digits(block, domains, arith::IterMapLevel::Surjective))
      throw Error(ScheduleError) << "the bindings of block " << quoted(block.block()->name_hint)
                                 << " are not digits of the loops around it: " << loop_names(loops);
  }
}

/// Rejects an order in which blocks below read too early or add too often.
void require_same_result(const Cursor& innermost) {
  std::vector<Cursor> below = blocks_below(innermost.loop()->body, innermost.function);
  for (const Cursor& inner : below) {
    Cursor block = innermost;
    block.path.insert(block.path.end(), inner.path.begin(), inner.path.end());
    std::string why_not;
    if (!accumulates_once(block, &why_not) || (below.size() > 1 && !is_region_covered(block, &why_not)))
      throw Error(ScheduleError) << "the loops cannot run in this order: " << why_not;
  }
}

bool names_loop(const BlockRealize* realize, const For* loop, IterType type) {
  for (size_t i = 0; i < realize->iter_values.size(); ++i)
    if (realize->block->iter_vars[i]->iter_type == type && uses_var(realize->iter_values[i], loop->loop_var))
      return true;
  return false;
}

/// Loops that count spatial and reduction axes together keep their order among them: the first term of a sum, where it
/// begins anew, must stay the first.
void require_order_of_shared(const std::vector<const For*>& chain, const std::vector<const For*>& order) {
  for (const Cursor& block : blocks_below(chain.back()->body, GlobalVar())) {
    if (!block.block()->init) continue;
    auto shared = [&](const std::vector<const For*>& loops) {
      std::vector<const For*> out;
      for (const For* loop : loops)
        if (names_loop(block.realize(), loop, IterType::DataPar) &&
            names_loop(block.realize(), loop, IterType::CommReduce))
          out.push_back(loop);
      return out;
    };
    if (shared(chain) != shared(order))
      throw Error(ScheduleError) << "the loops " << loop_names(shared(chain)) << " count spatial and reduction axes of "
                                 << "block " << quoted(block.block()->name_hint)
                                 << " together, so they keep their order among them";
  }
}

}  // namespace

/// reorder(k, i):   for i: for j: for k: S   =>   for k: for j: for i: S
/// The loops named are put in the order given; loops between them stay where they are.
/// Requires: a chain of loops around spatial and reduction blocks, no extent that would leave its loop's scope.
void reorder(State& state, const std::vector<LoopRef>& refs) {
  if (refs.empty()) throw Error(ScheduleError) << "reorder needs at least one loop";
  std::vector<const For*> chain = chain_of(state, refs);
  Cursor top = state.find(State::ref(refs[0].function, chain.front()));
  require_reorderable_blocks(state.find(State::ref(refs[0].function, chain.back())), chain.front());

  std::unordered_set<const Object*> wanted;
  std::unordered_map<const Object*, const For*> by_var;
  for (const LoopRef& ref : refs) wanted.insert(ref.var.get());
  for (const For* loop : chain) by_var[loop->loop_var.get()] = loop;
  std::vector<const For*> order;
  size_t next = 0;
  for (const For* loop : chain)
    order.push_back(wanted.count(loop->loop_var.get()) ? by_var[refs[next++].var.get()] : loop);
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = i; j < order.size(); ++j)
      if (uses_var(order[i]->extent, order[j]->loop_var) || uses_var(order[i]->min, order[j]->loop_var))
        throw Error(ScheduleError) << "loop " << order[i]->loop_var->name << " cannot stand outside loop "
                                   << order[j]->loop_var->name << ", on which its extent depends";

  require_order_of_shared(chain, order);
  Stmt body = chain.back()->body;
  for (size_t i = order.size(); i-- > 0;) body = with(order[i], &For::body, body);
  state.replace(refs[0].function, top.stmt(), body);
  Cursor innermost = state.find(State::ref(refs[0].function, order.back()));
  require_same_result(innermost);
}

}  // namespace tessera::schedule
