#pragma once
// Algebraic rules as data. A rule is three small trees, written with the usual operators:
//
//   rule(x * c1 + x * c2,       x * (c1 + c2))
//   rule(floordiv(x * c1, c2),  x * floordiv(c1, c2),   c2 != 0 && c1 % c2 == 0)
//
// x, y, ... stand for any expression, c1, c2, ... for integer constants. The table is compiled once, tries every order
// of commutative operands, and is read by the simplifier and by the test that checks each rule on numbers.

#include <string>
#include <vector>

#include "arith/facts.h"
#include "arith/kind.h"

namespace tessera::arith {

struct PatNode {
  enum Type : uint8_t {
    Hole,        // any expression; a second occurrence must be equal
    Const,       // an integer constant
    Literal,     // this number
    Truth,       // true or false
    Node,        // an operator over `kids`
    Proven,      // condition: the analyzer proves kids[0]
    InRange,     // condition: kids[1] <= kids[0] < kids[2] by constant bounds
    Multiple,    // condition: kids[0] is a multiple of kids[1]
    NoExtremum,  // condition: kids[0] is neither a min nor a max
  };
  Type type = Node;
  Kind kind = Kind::Other;
  uint8_t index = 0;
  bool constant = false;  // made of numbers and constants only
  int64_t value = 0;
  const PatNode* kids[3] = {};
};

/// A handle to a tree of PatNodes, which live as long as the process.
class Pat {
 public:
  Pat() = default;
  Pat(int value);
  Pat(bool value);
  explicit Pat(const PatNode* node) : node_(node) {}
  const PatNode* get() const { return node_; }
  const PatNode* operator->() const { return node_; }

 private:
  const PatNode* node_ = nullptr;
};

struct Rule {
  Pat before, after, condition;  // no condition: always
  bool every_order = true;       // false: operands must stand as written
  bool mirrored = false;         // operands found in the other order leave in the other order
};

/// What rules may ask about the expressions they matched.
class Prover {
 public:
  virtual ~Prover() = default;
  virtual bool proves(const PrimExpr& condition) = 0;
  virtual IntBound bound_of(const PrimExpr& e) = 0;
  virtual Modular modular_of(const PrimExpr& e) = 0;
};

class RuleSet {
 public:
  explicit RuleSet(std::vector<Rule> rules);

  /// `e` after the first rule that matches it, or nothing.
  PrimExpr apply(const PrimExpr& e, Prover& prover) const;
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  struct Variant {
    const PatNode* before;
    const PatNode* after;
    const Rule* rule;
    Kind second;  // the kind the second operand must have; Other: any
  };
  void add(const PatNode* before, const PatNode* after, const Rule* rule);

  std::vector<Rule> rules_;
  std::vector<Variant> candidates_[kKinds][kKinds];  // by kind of the node and of its first operand
};

/// All rules on scalars, and those on vectors.
const RuleSet& scalar_rules();
const RuleSet& vector_rules();

std::string to_text(const PatNode* node);

/// The value of a constant tree; nothing where it overflows or divides by zero.
std::optional<int64_t> evaluate_constant(const PatNode* node, const int64_t* constants);

}  // namespace tessera::arith
