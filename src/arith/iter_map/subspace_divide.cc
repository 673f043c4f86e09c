#include <algorithm>

#include "arith/iter_map/iter_map.h"
#include "arith/iter_map/rewriter.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::arith {
namespace {

/// Divides sums of digits between outer and inner iterators.
class Divider {
 public:
  Divider(const Array<Var>& inner_iters, Analyzer* analyzer) : inner_iters_(inner_iters), analyzer_(analyzer) {}

  struct Part {
    IterMark outer, inner;
    bool defined() const { return outer.defined(); }
  };

  Part divide(const IterSumExpr& sum) {
    PrimExpr zero = make_zero(sum->dtype), one = make_const(sum->dtype, 1);
    IterMark nothing = make_iter_mark(make_iter_sum({}, zero), one);
    if (sum->args.empty()) return {make_iter_mark(sum, one), nothing};
    if (sum->args.size() != 1) return {};
    IterSplitExpr split = sum->args[0];
    Side side = side_of(split->source->source);
    if (side == Side::Inner) return {nothing, make_iter_mark(sum, split->extent)};
    if (side == Side::Outer) return {make_iter_mark(sum, split->extent), nothing};
    bool whole = is_one(split->lower_factor) && is_one(split->scale) &&
                 analyzer_->can_prove_equal(split->extent, split->source->extent);
    const auto* inside = split->source->source.as<IterSumExprNode>();
    if (!whole || !inside) return {};
    Part part = divide_terms(IterSumExpr(inside), split->source->extent);
    if (!part.defined() || is_zero(sum->base)) return part;
    // The constant goes to the outer side where the inner box divides it.
    PrimExpr size = part.inner->extent;
    if (!analyzer_->can_prove_equal(floormod(sum->base, size), zero)) return {};
    PrimExpr shift = analyzer_->simplify(floordiv(sum->base, size));
    const auto* outer = part.outer->source.as<IterSumExprNode>();
    part.outer = make_iter_mark(make_iter_sum(outer->args, outer->base + shift), part.outer->extent);
    return part;
  }

  PrimExpr outer_condition = bool_imm(true), inner_condition = bool_imm(true);

  void sort_condition(const PrimExpr& condition) {
    if (side_of(condition) == Side::Outer) outer_condition = logical_and(outer_condition, condition);
    else inner_condition = logical_and(inner_condition, condition);
  }

 private:
  enum class Side { None, Outer, Inner, Both };

  Side side_of(const PrimExpr& e) {
    bool outer = false, inner = false;
    walk_marks(e, [&](const VarNode* var) {
      bool is_inner = false;
      for (const Var& v : inner_iters_) is_inner = is_inner || v.get() == var;
      (is_inner ? inner : outer) = true;
    });
    return outer && inner ? Side::Both : inner ? Side::Inner : outer ? Side::Outer : Side::None;
  }
  template <class F>
  void walk_marks(const PrimExpr& e, F f) {
    walk(normalize_iter_map_to_expr(e), f);
  }

  /// Major terms outer, minor terms inner, at most one term in between that is divided itself.
  Part divide_terms(const IterSumExpr& sum, const PrimExpr& extent) {
    PrimExpr zero = make_zero(sum->dtype), one = make_const(sum->dtype, 1);
    std::vector<IterSplitExpr> outer, inner;
    PrimExpr inner_size = one, outer_size = one;
    std::vector<IterSplitExpr> terms = sum->args.vec();
    bool above = false;  // a term that is not inner was met, going up
    for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
      Side side = side_of((*term)->source->source);
      if (side == Side::Both || (side == Side::Inner && above)) return {};
      if (side == Side::Inner) {
        inner.insert(inner.begin(), *term);
        inner_size = analyzer_->simplify(inner_size * (*term)->extent);
      } else {
        above = true;
        PrimExpr factor = analyzer_->simplify(floordiv((*term)->scale, inner_size));
        outer.insert(outer.begin(), with(*term, &IterSplitExprNode::scale, factor));
        outer_size = analyzer_->simplify(outer_size * (*term)->extent);
      }
    }
    // A space that a condition bounds keeps the condition.
    if (!analyzer_->can_prove_equal(outer_size * inner_size, extent))
      sort_condition(normalize_iter_map_to_expr(sum) < extent);
    return {make_iter_mark(make_iter_sum(Array<IterSplitExpr>(outer), zero), outer_size),
            make_iter_mark(make_iter_sum(Array<IterSplitExpr>(inner), sum->base), inner_size)};
  }

  Array<Var> inner_iters_;
  Analyzer* analyzer_;
};

}  // namespace

Array<Array<IterMark>> subspace_divide(const Array<PrimExpr>& bindings, const Map<Var, Range>& iters,
                                       const Array<Var>& sub_iters, const PrimExpr& predicate, IterMapLevel level,
                                       Analyzer* analyzer, bool simplify_trivial_iterators) {
  IterMapRewriter rewriter(iters, level, analyzer, simplify_trivial_iterators);
  if (!rewriter.add_constraints(predicate)) return {};
  std::vector<IterSumExpr> sums;
  for (const PrimExpr& binding : bindings) {
    IterSumExpr sum = rewriter.normalize(analyzer->simplify(binding));
    if (!sum.defined()) return {};
    sums.push_back(sum);
  }
  if (rewriter.pads() || !rewriter.check_mapping(sums)) return {};
  Divider divider(sub_iters, analyzer);
  Array<Array<IterMark>> out;
  for (const IterSumExpr& sum : sums) {
    Divider::Part part = divider.divide(sum);
    if (!part.defined()) return {};
    out.push_back({part.outer, part.inner});
  }
  PrimExpr none = make_iter_sum({}, PrimExpr(0));
  out.push_back({make_iter_mark(none, divider.outer_condition), make_iter_mark(none, divider.inner_condition)});
  return out;
}

}  // namespace tessera::arith
