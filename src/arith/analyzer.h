#pragma once
// Integer facts about a point of a program, and what follows from them.
//
//   Analyzer analyzer;
//   analyzer.bind(i, make_range(0, 16));
//   analyzer.simplify(floordiv(io * 16 + i, 16));        // io
//   auto scope = analyzer.assume(i < n);                  // until the scope ends
//   analyzer.can_prove(i + 1 <= n);                       // true
//
// Arithmetic of int32 and int64 is taken to be that of the integers (programs do not overflow), and divisors not to be
// zero. Answers are remembered until a fact changes, so asking about every node of a program is cheap.

#include <memory>

#include "arith/facts.h"
#include "ir/prim/expr.h"

namespace tessera::arith {

struct Core;

class Analyzer {
 public:
  Analyzer();
  ~Analyzer();
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;
  Analyzer(const Analyzer& other);  // the same facts, to go on from separately

  /// `var` lies in `range`, or equals `value`. Binding a variable again with another meaning is an error unless
  /// `replace` is given. A range of extent 1 is a value.
  void bind(const Var& var, const Range& range, bool replace = false);
  void bind(const Var& var, const PrimExpr& value, bool replace = false);
  void bind(const Map<Var, Range>& ranges, bool replace = false);
  /// Adds what is known of a variable's bound or remainder.
  void update(const Var& var, IntBound bound, bool replace = false);
  void update(const Var& var, Modular modular, bool replace = false);
  bool is_bound(const Var& var) const;

  /// Takes back what `assume` added when it goes out of scope; scopes end in the opposite order of their beginning.
  class Scope {
   public:
    Scope(Scope&& other) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class Analyzer;
    Scope(Core* core, const PrimExpr& condition);
    struct State;
    std::unique_ptr<State> state_;
  };
  [[nodiscard]] Scope assume(const PrimExpr& condition);

  IntBound const_int_bound(const PrimExpr& e);
  Modular modular_set(const PrimExpr& e);

  PrimExpr rewrite_simplify(const PrimExpr& e);
  PrimExpr canonical_simplify(const PrimExpr& e);
  /// Both in turn, `steps` in all.
  PrimExpr simplify(const PrimExpr& e, int steps = 2);

  /// True when the condition holds wherever the facts do. False means it could not be shown.
  bool can_prove(const PrimExpr& condition);
  bool can_prove_equal(const PrimExpr& a, const PrimExpr& b);
  bool can_prove_greater_equal(const PrimExpr& e, int64_t low);
  bool can_prove_less(const PrimExpr& e, int64_t high);
  bool can_prove_less_equal(const PrimExpr& a, const PrimExpr& b);
  bool can_prove_less(const PrimExpr& a, const PrimExpr& b);

  Core& core() { return *core_; }

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace tessera::arith
