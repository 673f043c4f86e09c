#pragma once
// Random integer expressions over variables of small ranges.

#include <random>

#include "arith/analyzer.h"
#include "evaluate.h"
#include "ir/prim/ops.h"

namespace tessera::arith {

class RandomExpressions {
 public:
  explicit RandomExpressions(uint32_t seed) : random_(seed) {
    const int64_t lows[] = {0, 0, -4, -7}, sizes[] = {16, 4, 9, 5};
    for (int i = 0; i < 4; ++i) {
      vars_.push_back(make_var(std::string(1, static_cast<char>('a' + i))));
      lows_.push_back(lows[i]);
      sizes_.push_back(sizes[i]);
    }
  }

  void bind(Analyzer* analyzer) const {
    for (size_t i = 0; i < vars_.size(); ++i)
      analyzer->bind(vars_[i], make_range(static_cast<int>(lows_[i]), static_cast<int>(sizes_[i])));
  }

  PrimExpr number(int depth) {
    if (depth == 0) return below(4) ? PrimExpr(vars_[below(vars_.size())]) : PrimExpr(below(20) - 6);
    PrimExpr a = number(depth - 1);
    switch (below(14)) {
      case 0:
      case 1:
      case 2: return a + number(depth - 1);
      case 3:
      case 4: return a - number(depth - 1);
      case 5:
      case 6: return a * factor();
      case 7: return floordiv(a, positive());
      case 8: return floormod(a, positive());
      case 9: return below(3) ? truncdiv(a, positive()) : floordiv(a, -positive());
      case 10: return below(3) ? truncmod(a, positive()) : floormod(a, -positive());
      case 11: return min(a, number(depth - 1));
      case 12: return max(a, number(depth - 1));
      default: return select(truth(depth - 1), a, number(depth - 1));
    }
  }

  PrimExpr truth(int depth) {
    int kind = below(depth > 1 ? 9 : 6);
    if (kind == 6) return make_node(Kind::And, truth(depth - 1), truth(depth - 1));
    if (kind == 7) return make_node(Kind::Or, truth(depth - 1), truth(depth - 1));
    if (kind == 8) return not_node(truth(depth - 1));
    PrimExpr a = number(depth), b = below(2) ? number(std::max(depth - 1, 0)) : PrimExpr(below(30) - 8);
    switch (kind) {
      case 0: return a < b;
      case 1: return a <= b;
      case 2: return a > b;
      case 3: return a >= b;
      case 4: return equal(a, b);
      default: return not_equal(a, b);
    }
  }

  Point point() {
    Point at;
    for (size_t i = 0; i < vars_.size(); ++i) at[vars_[i].get()] = lows_[i] + below(sizes_[i]);
    return at;
  }

  /// Calls `use` on every point of the box.
  template <class F>
  void all_points(F use) const {
    Point at;
    visit(0, &at, use);
  }

  int below(int64_t n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  const std::vector<Var>& vars() const { return vars_; }

 private:
  int positive() {
    const int choices[] = {2, 2, 3, 4, 4, 5, 8, 16};
    return choices[below(8)];
  }
  int factor() {
    const int choices[] = {2, 3, 4, 4, 8, 16, -1, -2, -3};
    return choices[below(9)];
  }
  template <class F>
  void visit(size_t i, Point* at, F& use) const {
    if (i == vars_.size()) return use(*at);
    for (int64_t v = 0; v < sizes_[i]; ++v) {
      (*at)[vars_[i].get()] = lows_[i] + v;
      visit(i + 1, at, use);
    }
  }

  std::mt19937 random_;
  std::vector<Var> vars_;
  std::vector<int64_t> lows_, sizes_;
};

/// An expression as text, for messages.
inline std::string show(const PrimExpr& e) {
  static const char* const names[] = {"+",  "-",  "*", "/",  "%", "//", "mod", "min", "max",
                                      "==", "!=", "<", "<=", ">", ">=", "&&",  "||"};
  Kind kind = kind_of(e);
  if (is_binary(kind))
    return "(" + show(as_binary(e)->a) + " " + names[static_cast<int>(kind) - static_cast<int>(Kind::Add)] + " " +
           show(as_binary(e)->b) + ")";
  if (kind == Kind::IntImm) return std::to_string(static_cast<const IntImm*>(e.get())->value);
  if (kind == Kind::Var) return static_cast<const VarNode*>(e.get())->name.str();
  if (kind == Kind::Not) return "!" + show(static_cast<const Not*>(e.get())->a);
  if (const auto* node = e.as<Select>())
    return "select(" + show(node->condition) + ", " + show(node->true_value) + ", " + show(node->false_value) + ")";
  return e->type_key();
}

inline std::string show(const Point& at) {
  std::string out;
  for (const auto& [var, value] : at) out += var->name.str() + "=" + std::to_string(value) + " ";
  return out;
}

}  // namespace tessera::arith
