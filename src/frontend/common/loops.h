#pragma once
// Branches and loops of which a run decides how often: Relay's If, and a recursive function.

#include <functional>
#include <unordered_set>
#include <vector>

#include "frontend/common/node_context.h"

namespace tessera::frontend {

/// The type is that of the first branch.
Expr make_if(Expr condition, Expr yes, Expr no);

/// The results of one of two branches. Where their extents differ, a run decides them.
std::vector<Expr> choose(const NodeContext& in, const Expr& condition, std::vector<Expr> yes, std::vector<Expr> no);

/// What one iteration gives. An empty condition goes on.
struct LoopStep {
  Expr condition;
  std::vector<Expr> states, scans;
};
using LoopBody = std::function<LoopStep(const Expr& iteration, const Expr& condition, const std::vector<Expr>& states)>;

/// What a loop that never runs collects: no rows of the type of `row`. Extents that are known only at run time are 0.
Expr no_rows(const NodeContext& in, const Expr& row);

/// fn loop(i, goes_on, states..., scans...) { if (goes_on and i < limit) loop(i + 1, ...) else (states..., scans...) },
/// called with the first values. `limit` and `start` (the first condition) may be left out. The last states, then the scans of
/// all iterations, each stacked. Extents that change from one iteration to the next are dynamic. `outside`: the
/// expressions that are computed once, before the loop, where the body uses them.
std::vector<Expr> recursive_loop(const NodeContext& in, const Expr& limit, const Expr& start,
                                 const std::vector<Expr>& initial, const LoopBody& body, size_t scans,
                                 const std::unordered_set<const Object*>& outside);

}  // namespace tessera::frontend
