#pragma once
// The work behind detect_iter_map. Internal to arith.

#include <string>
#include <vector>

#include "arith/iter_map/iter_map.h"

namespace tessera::arith {

/// The same digit of the same mark, whatever its scale.
bool same_digit(const IterSplitExpr& a, const IterSplitExpr& b);
/// The same digits with the same scales in the same order.
bool same_terms(const IterSumExpr& a, const IterSumExpr& b);

class IterMapRewriter {
 public:
  IterMapRewriter(const Map<Var, Range>& iters, IterMapLevel level, Analyzer* analyzer, bool simplify_trivial);

  /// Takes in conditions of the form  low <= sum of digits <= high. False, with an error, on others.
  bool add_constraints(const PrimExpr& predicate);
  /// The index as one digit of a mark that stands for all iterators in it; empty, with an error, when it is none.
  IterSumExpr normalize(const PrimExpr& index);
  /// The index as a sum of digits; empty, with an error, when it is none.
  IterSumExpr parse(const PrimExpr& index);
  /// Whether the digits used are independent, and all of them where the level asks for it.
  bool check_mapping(const std::vector<IterSumExpr>& sums);

  /// Whether every condition given is part of the digits used by `sums`.
  bool uses_all_constraints(const std::vector<IterSumExpr>& sums) const;

  /// Where divisors of one dividend were found to need more padding than it got, forgets all but that and returns true: the
  /// conditions and indices are then to be read again.
  bool restart();

  bool pads() const { return padding_.defined(); }
  PrimExpr padding_predicate() const;

  std::vector<std::string> errors;

 private:
  struct Fused {
    IterSumExpr flat;  // what was fused, base 0
    IterMark mark;
    PrimExpr base;  // of the mark's zero in units of the sum
  };

  /// A dividend that is padded to a multiple of all its divisors.
  struct Pad {
    IterSumExpr dividend;
    int64_t multiple;
    IterMark mark;  // with the padding
  };

  Pad* find_pad(const IterSumExpr& dividend);
  /// What a dividend is padded to for a constant divisor; `split` where the dividend is that digit without an offset.
  PrimExpr padded_to(Pad* pad, const IterSumExpr& dividend, const PrimExpr& d, const IterSplitExpr& split);

  IterSumExpr parse_node(const PrimExpr& e);
  IterSumExpr add(const IterSumExpr& a, const IterSumExpr& b, int sign);
  IterSumExpr scale(const IterSumExpr& a, const PrimExpr& by);
  IterSumExpr divide(const IterSumExpr& a, const PrimExpr& by, bool quotient, const PrimExpr& at);
  /// The terms as one split, major iterator first in its mark; empty when they leave gaps.
  IterSumExpr fuse(const IterSumExpr& sum);
  bool order_terms(const IterSumExpr& sum, std::vector<IterSplitExpr>* major_first, PrimExpr* unit, PrimExpr* size);
  const Fused* find_fused(const IterSumExpr& flat) const;
  bool constrain(const PrimExpr& e, const PrimExpr& low, const PrimExpr& high);
  bool check_mark(const IterMark& mark, std::vector<IterSplitExpr> splits);
  IterSumExpr reject(std::string why);
  bool uses_iter(const PrimExpr& e) const;
  bool equal(const PrimExpr& a, const PrimExpr& b) { return analyzer_->can_prove_equal(a, b); }
  PrimExpr simple(const PrimExpr& e) { return analyzer_->simplify(e); }
  void add_padding(const PrimExpr& condition);

  IterMapLevel level_;
  Analyzer* analyzer_;
  std::unordered_map<const VarNode*, IterSumExpr> of_var_;
  std::vector<IterMark> inputs_;
  std::vector<Fused> fused_;
  PrimExpr padding_;
  std::vector<IterMark> padded_;
  std::vector<Pad> pads_;
  bool needs_more_padding_ = false;
  std::vector<IterSumExpr> constrained_;  // flat sums that conditions bound
  bool leaves_out_ = false;               // a condition on none of the iterators that is not known to hold
};

}  // namespace tessera::arith
