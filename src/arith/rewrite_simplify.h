#pragma once
// Simplification by rules, bottom up.

#include "arith/memo.h"
#include "arith/pattern.h"

namespace tessera::arith {

struct Core;

/// Rewrites an expression into one that is equal wherever the facts hold and both are defined. Results are remembered
/// by node until `forget`.
class RewriteSimplifier : protected Prover {
 public:
  explicit RewriteSimplifier(Core* core) : core_(core) {}
  ~RewriteSimplifier() override = default;

  PrimExpr operator()(const PrimExpr& e) { return visit(e); }
  void forget() { memo_.clear(); }
  Memo<PrimExpr>& memo() { return memo_; }

  enum class Order : uint8_t { Unknown, Less, LessEqual, Equal, NotEqual, GreaterEqual, Greater };
  /// How a stands to b, by bounds and remainders of their difference.
  Order compare(const PrimExpr& a, const PrimExpr& b);

 protected:
  PrimExpr visit(const PrimExpr& e);
  /// One node, asked once per node and set of facts.
  virtual PrimExpr compute(const PrimExpr& e);
  /// A binary node over simplified operands; `original` is returned when it is the answer.
  PrimExpr combine(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original);

  bool proves(const PrimExpr& condition) override;
  IntBound bound_of(const PrimExpr& e) override;
  Modular modular_of(const PrimExpr& e) override;

  Core* core_;

 private:
  PrimExpr again(const PrimExpr& e);
  PrimExpr combine_index(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original);
  PrimExpr comparison(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original);
  PrimExpr negated_comparison(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original);
  PrimExpr negation(const PrimExpr& e);
  PrimExpr by_known_conditions(const PrimExpr& e);
  PrimExpr on_select(const PrimExpr& e);
  PrimExpr on_call(const PrimExpr& e);
  PrimExpr on_let(const PrimExpr& e);
  PrimExpr on_children(const PrimExpr& e);
  PrimExpr under(const PrimExpr& condition, const PrimExpr& e);

  Memo<PrimExpr> memo_;
  int depth_ = 0;          // of rules applied to results of rules
  int compare_depth_ = 0;  // of comparisons asked for by comparisons
};

// ---- shared by the parts of the simplifier ----

inline bool is_truth(const PrimExpr& e) { return e.dtype().is_bool() && kind_of(e) == Kind::IntImm; }

/// The node `a <kind> b`; `original` when it is that node already.
PrimExpr rebuild(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original);

struct Deeper {
  explicit Deeper(int* depth) : depth_(depth) { ++*depth_; }
  ~Deeper() { --*depth_; }
  int* depth_;
};

}  // namespace tessera::arith
