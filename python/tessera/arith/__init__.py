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
from .pattern import detect_clip_bound, detect_linear_equation
