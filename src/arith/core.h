#pragma once
// The parts of an analyzer, sharing one set of facts. Internal to arith; others use arith/analyzer.h.

#include "arith/canonical_simplify.h"
#include "arith/modular_set.h"

namespace tessera::arith {

struct Core {
  Facts facts;
  BoundAnalyzer bounds{&facts};
  ModularAnalyzer modulars{&facts, &bounds};
  RewriteSimplifier rewrite{this};
  CanonicalSimplifier canonical{this};
  uint64_t bindings = 0;  // how many times a variable was bound

  /// What to go back to when a scope ends.
  struct Mark {
    size_t bounds, modulars, literals;
    uint64_t bindings;
    Memo<PrimExpr> rewritten, canonical;
    Memo<CanonicalSimplifier::SumRef> sums;
  };
  /// Takes `condition` for true until `leave`.
  Mark enter(const PrimExpr& condition);
  void leave(Mark mark);

  void forget();

 private:
  void learn(const PrimExpr& condition);
  void learn_bound(const PrimExpr& e, IntBound bound, int depth);
};

}  // namespace tessera::arith
