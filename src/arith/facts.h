#pragma once
// What an analyzer knows at one point of a program: ranges of variables, and conditions that hold here.

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/int_math.h"
#include "ir/prim/expr.h"

namespace tessera::arith {

/// The values from min to max, both included; kNegInf and kPosInf mean unbounded.
struct IntBound {
  int64_t min = kNegInf, max = kPosInf;

  static IntBound single(int64_t v) { return {clamp_inf(v), clamp_inf(v)}; }
  /// Every value of a type; 64-bit types are taken as unbounded.
  static IntBound of(DataType dtype);
  bool is_single() const { return min == max && !is_inf(min); }
  bool is_empty() const { return min > max; }
  bool within(int64_t low, int64_t high) const { return min >= low && max <= high; }
  bool operator==(const IntBound&) const = default;
};
inline IntBound operator|(IntBound a, IntBound b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }
inline IntBound operator&(IntBound a, IntBound b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

/// The values k * coeff + base for integers k, with 0 <= base < coeff; coeff 0 means just base.
struct Modular {
  int64_t coeff = 1, base = 0;
  bool operator==(const Modular&) const = default;
  bool is_multiple_of(int64_t c) const { return c != 0 && coeff % c == 0 && base % c == 0; }
};

struct Facts {
  struct OfVar {
    Var var;
    IntBound bound;
    Modular modular;
    PrimExpr value;  // what the variable is equal to, if anything
    Range range;     // as given, its ends possibly symbolic
  };
  std::unordered_map<const VarNode*, OfVar> vars;

  // From conditions; a scope takes back what it added.
  std::vector<std::pair<PrimExpr, IntBound>> bounds;
  std::vector<std::pair<PrimExpr, Modular>> modulars;
  std::vector<PrimExpr> literals;  // conditions as simplified, each known to be true

  const OfVar* find(const VarNode* var) const {
    auto it = vars.find(var);
    return it == vars.end() ? nullptr : &it->second;
  }
};

}  // namespace tessera::arith
