"""Integer analysis: simplification, bounds, remainders, sets, iteration maps and linear systems."""

from .analyzer import Analyzer, ConstIntBound, ConstraintScope, ModularSet
from .bound import deduce_bound
from .int_set import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
    neg_inf,
    pos_inf,
    union_lower_bound,
)
from .int_solver import (
    IntConstraints,
    IntConstraintsTransform,
    IntGroupBounds,
    solve_linear_equations,
    solve_linear_inequalities,
)
from .iter_affine_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    subspace_divide,
)
from .pattern import detect_clip_bound, detect_linear_equation
