#pragma once
// Index expressions as maps between iteration spaces: sums of digits of iterators. Where a list of indices is such a map,
// loops can be divided and the map inverted.

#include "arith/analyzer.h"

namespace tessera::arith {

/// Stands where an expression may; its value is that of normalize_iter_map_to_expr.
struct IterMapExprNode : PrimExprNode {
  static constexpr NodeInfo info{"arith.IterMapExpr", &PrimExprNode::info};
  static void fields(auto) {}
};

/// An iterator of [0, extent): a variable, or a sum of others taken as one.
struct IterMarkNode : Object {
  PrimExpr source, extent;
  static constexpr NodeInfo info{"arith.IterMark", &Object::info};
  static void fields(auto f) {
    f("source", &IterMarkNode::source);
    f("extent", &IterMarkNode::extent);
  }
};
using IterMark = Ref<IterMarkNode>;

/// The digit  source // lower_factor % extent * scale.
struct IterSplitExprNode : IterMapExprNode {
  IterMark source;
  PrimExpr lower_factor, extent, scale;
  static constexpr NodeInfo info{"arith.IterSplitExpr", &IterMapExprNode::info};
  static void fields(auto f) {
    f("source", &IterSplitExprNode::source);
    f("lower_factor", &IterSplitExprNode::lower_factor);
    f("extent", &IterSplitExprNode::extent);
    f("scale", &IterSplitExprNode::scale);
  }
};
using IterSplitExpr = Ref<IterSplitExprNode>;

struct IterSumExprNode : IterMapExprNode {
  Array<IterSplitExpr> args;
  PrimExpr base;
  static constexpr NodeInfo info{"arith.IterSumExpr", &IterMapExprNode::info};
  static void fields(auto f) {
    f("args", &IterSumExprNode::args);
    f("base", &IterSumExprNode::base);
  }
};
using IterSumExpr = Ref<IterSumExprNode>;

IterMark make_iter_mark(const PrimExpr& source, const PrimExpr& extent);
IterSplitExpr make_iter_split(const IterMark& source, const PrimExpr& lower_factor, const PrimExpr& extent,
                              const PrimExpr& scale);
IterSplitExpr make_iter_split(const IterMark& source, const PrimExpr& scale);  // the whole of it
IterSumExpr make_iter_sum(const Array<IterSplitExpr>& args, const PrimExpr& base);

enum class IterMapLevel : int32_t {
  Bijective = 0,   // every point of the result box comes from exactly one point of the iterators
  Surjective = 1,  // from at least one
  NoCheck = 3,
};

struct IterMapResultNode : Object {
  Array<IterSumExpr> indices;  // empty when the indices are no such map
  Array<String> errors;        // why not
  bool is_whole = true;        // false: a part of the predicate is not in the indices, which cover more than it allows
  PrimExpr padding_predicate;  // true where a padded iterator is outside the original space
  static constexpr NodeInfo info{"arith.IterMapResult", &Object::info};
  static void fields(auto f) {
    f("indices", &IterMapResultNode::indices);
    f("errors", &IterMapResultNode::errors);
    f("padding_predicate", &IterMapResultNode::padding_predicate, Optional);
  }
};
using IterMapResult = Ref<IterMapResultNode>;

/// Writes each index as a sum of digits of `iters`, where `predicate` holds.
IterMapResult detect_iter_map(const Array<PrimExpr>& indices, const Map<Var, Range>& iters, const PrimExpr& predicate,
                              IterMapLevel level, Analyzer* analyzer, bool simplify_trivial_iterators = true);

/// The plain expression of an iterator, split or sum.
PrimExpr normalize_iter_map_to_expr(const PrimExpr& e);

/// Indices simplified with the knowledge that iterators are digits: i * 4 + j over j in [0, 4) and so on.
Array<PrimExpr> iter_map_simplify(const Array<PrimExpr>& indices, const Map<Var, Range>& iters,
                                  const PrimExpr& predicate, IterMapLevel level,
                                  bool simplify_trivial_iterators = true);

/// Divides each binding into outer * extent(inner) + inner, where inner names only `sub_iters` and outer none of them.
/// One pair of marks per binding, and a last pair whose extents are the conditions left on the outer and inner iterators.
/// Empty when that cannot be done.
Array<Array<IterMark>> subspace_divide(const Array<PrimExpr>& bindings, const Map<Var, Range>& iters,
                                       const Array<Var>& sub_iters, const PrimExpr& predicate, IterMapLevel level,
                                       Analyzer* analyzer, bool simplify_trivial_iterators = true);

/// For a bijective map, the value of each input variable in terms of `outputs`.
Map<Var, PrimExpr> inverse_affine_iter_map(const Array<IterSumExpr>& iter_map, const Array<PrimExpr>& outputs);

}  // namespace tessera::arith
