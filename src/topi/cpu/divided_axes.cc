#include "topi/cpu/divided_axes.h"

#include <set>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/layout.h"
#include "tir/index_map.h"
#include "topi/cpu/tile_elements.h"

namespace tessera::topi {
namespace {

using schedule::BlockRef;
using schedule::State;

bool divides(const BlockNode* block) {
  bool found = false;
  walk(block->body, [&](const FloorDiv*) { found = true; });
  walk(block->body, [&](const FloorMod*) { found = true; });
  return found;
}

/// Simplifies what the block computes, knowing how far its axes go.
void simplify_body(State& state, const BlockRef& ref) {
  schedule::Cursor cursor = state.find(ref);
  arith::Analyzer analyzer;
  for (const IterVar& iter : cursor.block()->iter_vars) analyzer.bind(iter->var, iter->dom);
  auto compared = [&](Rewriter& self, const auto* op) -> PrimExpr { return analyzer.simplify(self.children(op)); };
  Block block = rewrite(
      schedule::with_simple_indices(cursor.realize()->block, analyzer),
      [&](Rewriter& self, const LT* op) -> PrimExpr { return compared(self, op); },
      [&](Rewriter& self, const LE* op) -> PrimExpr { return compared(self, op); },
      [&](Rewriter& self, const GT* op) -> PrimExpr { return compared(self, op); },
      [&](Rewriter& self, const GE* op) -> PrimExpr { return compared(self, op); });
  state.replace(ref.function, cursor.stmt(), with(cursor.realize(), &BlockRealize::block, block));
}

/// The numbers that an axis is divided by and that divide its extent, from the smallest, each dividing the next; empty
/// where they do not.
std::vector<int64_t> divisors_of(const BlockNode* block, const IterVar& axis) {
  const int64_t* extent = as_int(axis->dom->extent);
  std::set<int64_t> found;
  auto look = [&](const PrimExpr& a, const PrimExpr& b) {
    const int64_t* number = as_int(b);
    if (extent && a.same_as(axis->var) && number && *number > 1 && *number < *extent && *extent % *number == 0)
      found.insert(*number);
  };
  walk(block->body, [&](const FloorDiv* op) { look(op->a, op->b); });
  walk(block->body, [&](const FloorMod* op) { look(op->a, op->b); });
  int64_t last = 1;
  for (int64_t number : found) {
    if (number % last != 0) return {};
    last = number;
  }
  return {found.begin(), found.end()};
}

}  // namespace

void split_divided_axes(State& state, const BlockRef& ref) {
  if (!is_spatial(state.find(ref)) || !divides(state.find(ref).block())) return;
  simplify_body(state, ref);
  const BlockNode* block = state.find(ref).block();
  Array<Var> old;
  Array<PrimExpr> digits;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar& axis = block->iter_vars[i];
    const Var var = make_var(axis->var->name, axis->var->dtype);
    old.push_back(var);
    std::vector<int64_t> divisors = divisors_of(block, axis);
    if (i + 1 == block->iter_vars.size() && !divisors.empty() && divisors.front() < kVectorLanes) divisors.clear();
    PrimExpr rest = var;
    for (size_t j = divisors.size(); j-- > 0;) {
      const PrimExpr number = int_imm(var->dtype, divisors[j]);
      digits.push_back(floordiv(rest, number));
      rest = floormod(rest, number);
    }
    digits.push_back(rest);
  }
  if (digits.size() == old.size()) return;
  if (attempt([&] { schedule::transform_block_layout(state, ref, make_index_map(old, digits)); }))
    simplify_body(state, ref);
}

}  // namespace tessera::topi
