#include "schedule/legality.h"

#include "arith/region_bound.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "schedule/checks.h"
#include "schedule/scope.h"
#include "schedule/unfuse.h"
#include "schedule/why_not.h"

namespace tessera::schedule {
namespace {

/// The bindings as points of a space of their own.
Array<Range> points(const Array<PrimExpr>& values) {
  Array<Range> out;
  for (const PrimExpr& value : values) out.push_back(make_range(value, make_const(value.dtype(), 1)));
  return out;
}

bool uses_loop(const Cursor& block, const For* loop, IterType type) {
  for (size_t i = 0; i < block.block()->iter_vars.size(); ++i)
    if (block.block()->iter_vars[i]->iter_type == type && uses_var(block.realize()->iter_values[i], loop->loop_var))
      return true;
  return false;
}

bool uses_loop(const Cursor& block, const For* loop) {
  for (const PrimExpr& value : block.realize()->iter_values)
    if (uses_var(value, loop->loop_var)) return true;
  return false;
}

/// Different iterations of the loops that the bindings name give different values of the axes, while the outer ones
/// among the loops stand still.
bool is_injective(const Cursor& cursor, size_t outer = 0) {
  Map<Var, Range> domains;
  std::vector<const For*> loops = cursor.loops();
  for (size_t i = outer; i < loops.size(); ++i)
    if (uses_loop(cursor, loops[i])) domains.set(loops[i]->loop_var, range_of(loops[i]));
  return domains.empty() || are_digits(cursor, domains, arith::IterMapLevel::Bijective);
}

/// The block as it stands in the function, when it was found below the loop.
Cursor whole(const Cursor& loop, const Cursor& below) {
  std::vector<Stmt> path = loop.path;
  path.insert(path.end(), below.path.begin(), below.path.end());
  return {loop.function, path};
}

}  // namespace

bool is_accumulating(const BlockNode* block) {
  if (block->init) return true;
  for (const BufferRegion& write : block->writes)
    if (reads_buffer(block, write->buffer)) return true;
  return false;
}

bool runs_all_of(const Cursor& now, const Cursor& before, std::string* why_not) {
  arith::Analyzer analyzer;
  const BlockNode* block = before.block();
  Array<arith::IntSet> wanted =
      arith::eval_set(points(before.realize()->iter_values), arith::as_sets(loop_domains(before)), &analyzer);
  auto [values, domains] = unfuse(now.realize()->iter_values, loop_domains(now));
  Array<arith::IntSet> run = arith::estimate_region_strict_bound(points(values), domains, bool_imm(true), &analyzer);
  std::string broken = "it cannot be shown that block " + named(block) + " still runs for the whole domain of its axes";
  if (!is_guard_of_domain(now) || (!run.defined() && !block->iter_vars.empty())) return fail(why_not, broken);
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    Range dom = block->iter_vars[i]->dom;
    PrimExpr last = dom->min + dom->extent - 1;
    bool low = analyzer.can_prove(run[i].min() <= dom->min) ||
               (wanted[i].has_lower_bound() && analyzer.can_prove(run[i].min() <= wanted[i].min()));
    bool high = analyzer.can_prove(run[i].max() >= last) ||
                (wanted[i].has_upper_bound() && analyzer.can_prove(run[i].max() >= wanted[i].max()));
    if (!low || !high) return fail(why_not, broken + ": axis " + block->iter_vars[i]->var->name.str());
  }
  return true;
}

bool accumulates_once(const Cursor& cursor, std::string* why_not) {
  if (!is_accumulating(cursor.block())) return true;
  const For* reduced = nullptr;
  for (const For* loop : cursor.loops()) {
    if (uses_loop(cursor, loop, IterType::CommReduce)) reduced = loop;
    if (reduced && !uses_loop(cursor, loop) && !is_one(loop->extent))
      return fail(why_not, "loop " + loop->loop_var->name.str() + " repeats block " + named(cursor.block()) +
                               " inside loop " + reduced->loop_var->name.str() +
                               " of its reduction, so that elements would be added more than once");
  }
  if (is_injective(cursor)) return true;
  // Tiles that overlap: a whole reduction begins anew for each of them.
  std::vector<const For*> loops = cursor.loops();
  size_t outer = 0;
  while (outer < loops.size() && !uses_loop(cursor, loops[outer], IterType::CommReduce)) ++outer;
  if (cursor.block()->init && outer < loops.size() && is_injective(cursor, outer)) return true;
  return fail(why_not, "the loops " + loop_names(cursor.loops()) + " run reduction block " + named(cursor.block()) +
                           " more than once for the same values of its axes");
}

bool is_private_to(const Cursor& loop, const Cursor& block) {
  const BlockRealize* scope = loop.scope();
  if (!scope) return false;
  for (const BufferRegion& write : block.block()->writes) {
    bool is_local = false;
    for (const Buffer& buffer : scope->block->alloc_buffers) is_local |= buffer.same_as(write->buffer);
    if (!is_local) return false;
    auto is_user = [&](const BlockNode* other) {
      return reads_buffer(other, write->buffer) || writes_buffer(other, write->buffer);
    };
    for (const Cursor& user : blocks_where(scope->block->body, loop.function, is_user)) {
      bool is_inside = false;
      for (const Stmt& stmt : user.path) is_inside |= stmt.same_as(loop.stmt());
      if (!is_inside) return false;
    }
  }
  return true;
}

bool has_independent_iterations(const Cursor& loop, bool shares_reductions, std::string* why_not) {
  std::vector<Cursor> below = blocks_below(loop.loop()->body, loop.function);
  const Var& var = loop.loop()->loop_var;
  for (const Cursor& inner : below) {
    Cursor block = whole(loop, inner);
    const std::string name = named(block.block());
    for (size_t i = 0; i < block.block()->iter_vars.size(); ++i) {
      IterVar iter = block.block()->iter_vars[i];
      if (!uses_var(block.realize()->iter_values[i], var) || iter->iter_type == IterType::DataPar) continue;
      if (shares_reductions && iter->iter_type == IterType::CommReduce) continue;
      return fail(why_not, "axis " + iter->var->name.str() + " of block " + name + ", bound to loop " +
                               var->name.str() + ", is not a data parallel block iter");
    }
    bool adds = is_accumulating(block.block());
    bool is_shared_reduction = shares_reductions && uses_loop(block, loop.loop(), IterType::CommReduce);
    if (adds && !is_one(loop.loop()->extent) && !is_shared_reduction && !is_private_to(loop, block) &&
        (!uses_loop(block, loop.loop(), IterType::DataPar) || !is_injective(block)))
      return fail(why_not,
                  "block " + name + " adds to the same elements in several iterations of loop " + var->name.str());
    for (const BufferRegion& write : block.block()->writes)
      for (const BufferRegion& read : block.block()->reads)
        if (read->buffer.same_as(write->buffer) && !structural_equal(read->region, write->region))
          return fail(why_not,
                      "block " + name + " reads other elements of " + write->buffer->name.str() + " than it writes");
  }
  if (below.size() < 2) return true;
  for (const Cursor& inner : below)
    if (!is_region_covered(whole(loop, inner), why_not)) return false;
  for (size_t i = 0; i < below.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (const BufferRegion& write : below[i].block()->writes)
        if (writes_buffer(below[j].block(), write->buffer) && !reads_buffer(below[i].block(), write->buffer))
          return fail(why_not, "blocks " + named(below[j].block()) + " and " + named(below[i].block()) +
                                   " both write " + write->buffer->name.str() + " inside loop " + var->name.str());
  return true;
}

Stmt loose_statement(const Stmt& stmt) {
  if (stmt.as<BlockRealize>()) return {};
  if (auto* loop = stmt.as<For>()) return loose_statement(loop->body);
  if (auto* seq = stmt.as<SeqStmt>()) {
    for (const Stmt& part : seq->seq)
      if (Stmt found = loose_statement(part)) return found;
    return {};
  }
  return stmt;
}

}  // namespace tessera::schedule
