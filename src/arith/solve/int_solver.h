#pragma once
// Systems of linear equations and inequalities over the integers.

#include "arith/analyzer.h"

namespace tessera::arith {

/// Bounds on coef * variable: at least each of `lower`, at most each of `upper`, equal to each of `equal`.
struct IntGroupBoundsNode : Object {
  PrimExpr coef;
  Array<PrimExpr> lower, equal, upper;
  static constexpr NodeInfo info{"arith.IntGroupBounds", &Object::info};
  static void fields(auto f) {
    f("coef", &IntGroupBoundsNode::coef);
    f("lower", &IntGroupBoundsNode::lower);
    f("equal", &IntGroupBoundsNode::equal);
    f("upper", &IntGroupBoundsNode::upper);
  }
};
using IntGroupBounds = Ref<IntGroupBoundsNode>;

/// Points of `variables` inside `ranges` where all `relations` hold.
struct IntConstraintsNode : Object {
  Array<Var> variables;
  Map<Var, Range> ranges;
  Array<PrimExpr> relations;
  static constexpr NodeInfo info{"arith.IntConstraints", &Object::info};
  static void fields(auto f) {
    f("variables", &IntConstraintsNode::variables);
    f("ranges", &IntConstraintsNode::ranges);
    f("relations", &IntConstraintsNode::relations);
  }
};
using IntConstraints = Ref<IntConstraintsNode>;

/// Two systems and the maps between their solutions, each the other's inverse there.
struct IntConstraintsTransformNode : Object {
  IntConstraints src, dst;
  Map<Var, PrimExpr> src_to_dst, dst_to_src;
  static constexpr NodeInfo info{"arith.IntConstraintsTransform", &Object::info};
  static void fields(auto f) {
    f("src", &IntConstraintsTransformNode::src);
    f("dst", &IntConstraintsTransformNode::dst);
    f("src_to_dst", &IntConstraintsTransformNode::src_to_dst);
    f("dst_to_src", &IntConstraintsTransformNode::dst_to_src);
  }
};
using IntConstraintsTransform = Ref<IntConstraintsTransformNode>;

IntGroupBounds make_int_group_bounds(const PrimExpr& coef, const Array<PrimExpr>& lower, const Array<PrimExpr>& equal,
                                     const Array<PrimExpr>& upper);
IntGroupBounds int_group_bounds_of(const Range& range);
/// The tightest range of the variable; empty when an end is missing.
Range find_best_range(const IntGroupBounds& bounds, const Map<Var, Range>& others);

IntConstraints make_int_constraints(const Array<Var>& variables, const Map<Var, Range>& ranges,
                                    const Array<PrimExpr>& relations);
IntConstraintsTransform make_int_constraints_transform(const IntConstraints& src, const IntConstraints& dst,
                                                       const Map<Var, PrimExpr>& src_to_dst,
                                                       const Map<Var, PrimExpr>& dst_to_src);

/// Solves the equations among the relations (Smith normal form): src_to_dst writes each variable in terms of fewer, free ones.
IntConstraintsTransform solve_linear_equations(const IntConstraints& system);

/// Solves inequalities by elimination (Fourier-Motzkin), as conditions on the last variable, on the one before it by the
/// last, and so on: no condition follows from others.
Array<PrimExpr> solve_inequalities_as_condition(const IntConstraints& system);
/// The range of each variable: its start in terms of those after it, its extent the greatest for all of their values. What the
/// ranges do not say, and what could not be solved, stays in `relations`; a system without solutions has the relation False.
IntConstraints solve_inequalities_to_range(const IntConstraints& system);
/// The same with variables that start at zero.
IntConstraintsTransform solve_inequalities_deskew_range(const IntConstraints& system);

}  // namespace tessera::arith
