// Functions of this room that other languages call.

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/iter_map/iter_map.h"
#include "arith/linear.h"
#include "arith/nodes.h"
#include "arith/region_bound.h"
#include "arith/solve/int_solver.h"
#include "runtime/registry.h"

namespace tessera::arith {
namespace {

/// `e`, where None is an error.
const PrimExpr& given(const PrimExpr& e) {
  static_cast<void>(*e);
  return e;
}

/// An analyzer as a function from the name of a method to the method.
PackedFunc create_analyzer() {
  auto self = std::make_shared<Analyzer>();
  return typed("analyzer", [self](std::string name) -> PackedFunc {
    if (name == "const_int_bound")
      return typed(name, [self](PrimExpr e) { return as_object(self->const_int_bound(given(e))); });
    if (name == "modular_set")
      return typed(name, [self](PrimExpr e) { return as_object(self->modular_set(given(e))); });
    if (name == "const_int_bound_update")
      return typed(name, [self](Var var, ConstIntBound bound, bool replace) {
        self->update(var, IntBound{bound->min_value, bound->max_value}, replace);
      });
    if (name == "Simplify")
      return typed(name, [self](PrimExpr e, int steps) { return self->simplify(given(e), steps); });
    if (name == "rewrite_simplify") return typed(name, [self](PrimExpr e) { return self->rewrite_simplify(given(e)); });
    if (name == "canonical_simplify")
      return typed(name, [self](PrimExpr e) { return self->canonical_simplify(given(e)); });
    if (name == "int_set")
      return typed(name, [self](PrimExpr e, SetOfVar domains) { return eval_set(given(e), domains, self.get()); });
    if (name == "bind")
      return typed(name, [self](Var var, ObjectRef value) {
        if (Range range = downcast_or_null<Range>(value)) return self->bind(var, range);
        self->bind(var, given(Any::of_object(value.get()).to<PrimExpr>()));
      });
    if (name == "can_prove") return typed(name, [self](PrimExpr e) { return self->can_prove(given(e)); });
    if (name == "can_prove_equal")
      return typed(name, [self](PrimExpr a, PrimExpr b) { return self->can_prove_equal(given(a), given(b)); });
    if (name == "enter_constraint_context")
      return typed(name, [self](PrimExpr condition) {
        // Ends once: when called, or when the last holder lets go of it.
        auto scope = std::make_shared<std::optional<Analyzer::Scope>>(self->assume(given(condition)));
        return typed("exit_constraint_context", [self, scope]() { scope->reset(); });
      });
    throw Error(ValueError) << "an analyzer has no method " << name;
  });
}

IterMapLevel level_of(int level) {
  if (level != 0 && level != 1 && level != 3)
    throw Error(ValueError) << "IterMapLevel " << level << " is none of Bijective (0), Surjective (1), NoCheck (3)";
  return static_cast<IterMapLevel>(level);
}

template <auto estimate>
Array<IntSet> with_ranges(Array<Range> region, Map<Var, Range> ranges, PrimExpr predicate) {
  Analyzer analyzer;
  analyzer.bind(ranges);
  return estimate(region, ranges, predicate, &analyzer);
}

/// Takes IntConstraints, or its three parts.
template <auto solve>
void on_system(Args args, Any* result) {
  if (args.size() == 1) {
    *result = Any(solve(args[0].to<IntConstraints>()));
  } else if (args.size() == 3) {
    *result = Any(solve(
        make_int_constraints(args[0].to<Array<Var>>(), args[1].to<Map<Var, Range>>(), args[2].to<Array<PrimExpr>>())));
  } else {
    throw Error(TypeError) << "expected IntConstraints, or variables, ranges and relations; got " << args.size()
                           << " arguments";
  }
}

Globals arith_globals{
    {"arith.CreateAnalyzer", create_analyzer},
    {"arith.ConstIntBound", [](int64_t min, int64_t max) { return as_object(IntBound{min, max}); }},
    {"arith.ModularSet", [](int64_t coeff, int64_t base) { return as_object(Modular{coeff, base}); }},

    {"arith.PosInf", pos_inf},
    {"arith.NegInf", neg_inf},
    {"arith.IntervalSet", [](PrimExpr min, PrimExpr max) { return IntSet::interval(min, max); }},
    {"arith.intset_single_point", IntSet::single_point},
    {"arith.intset_vector", IntSet::vector},
    {"arith.intset_interval", IntSet::interval},
    {"arith.IntervalSetGetMin", [](IntSet set) { return set.min(); }},
    {"arith.IntervalSetGetMax", [](IntSet set) { return set.max(); }},
    {"arith.IntSetIsNothing", [](IntSet set) { return set.is_nothing(); }},
    {"arith.IntSetIsEverything", [](IntSet set) { return set.is_everything(); }},
    {"arith.UnionLowerBound", union_lower_bound},

    {"arith.DetectLinearEquation", [](PrimExpr e, Array<Var> vars) { return detect_linear_equation(given(e), vars); }},
    {"arith.DetectClipBound", [](PrimExpr e, Array<Var> vars) { return detect_clip_bound(given(e), vars); }},
    {"arith.DeduceBound", [](PrimExpr var, PrimExpr condition, SetOfVar hints,
                             SetOfVar relaxed) { return deduce_bound(given(var), given(condition), hints, relaxed); }},

    {"arith.EstimateRegionLowerBound", with_ranges<estimate_region_lower_bound>},
    {"arith.EstimateRegionStrictBound", with_ranges<estimate_region_strict_bound>},
    {"arith.EstimateRegionUpperBound", with_ranges<estimate_region_upper_bound>},

    {"arith.IterMark", make_iter_mark},
    {"arith.IterSplitExpr", [](IterMark source, PrimExpr lower_factor, PrimExpr extent,
                               PrimExpr scale) { return make_iter_split(source, lower_factor, extent, scale); }},
    {"arith.IterSumExpr", make_iter_sum},
    {"arith.DetectIterMap",
     [](Array<PrimExpr> indices, Map<Var, Range> iters, PrimExpr predicate, int level, bool simplify_trivial) {
       Analyzer analyzer;
       return detect_iter_map(indices, iters, predicate, level_of(level), &analyzer, simplify_trivial);
     }},
    {"arith.NormalizeIterMapToExpr", normalize_iter_map_to_expr},
    {"arith.IterMapSimplify",
     [](Array<PrimExpr> indices, Map<Var, Range> iters, PrimExpr predicate, int level, bool simplify_trivial) {
       return iter_map_simplify(indices, iters, predicate, level_of(level), simplify_trivial);
     }},
    {"arith.SubspaceDivide",
     [](Array<PrimExpr> bindings, Map<Var, Range> iters, Array<Var> sub_iters, PrimExpr predicate, int level,
        bool simplify_trivial) {
       Analyzer analyzer;
       return subspace_divide(bindings, iters, sub_iters, predicate, level_of(level), &analyzer, simplify_trivial);
     }},
    {"arith.InverseAffineIterMap", inverse_affine_iter_map},

    {"arith.IntGroupBounds", make_int_group_bounds},
    {"arith.IntGroupBounds_from_range", int_group_bounds_of},
    {"arith.IntGroupBounds_FindBestRange",
     [](IntGroupBounds bounds, Map<Var, Range> others) {
       return find_best_range(bounds, others.defined() ? others : Map<Var, Range>());
     }},
    {"arith.IntConstraints", make_int_constraints},
    {"arith.IntConstraintsTransform", make_int_constraints_transform},
    {"arith.SolveLinearEquations", on_system<solve_linear_equations>},
    {"arith.SolveInequalitiesAsCondition", on_system<solve_inequalities_as_condition>},
    {"arith.SolveInequalitiesToRange", on_system<solve_inequalities_to_range>},
    {"arith.SolveInequalitiesDeskewRange", on_system<solve_inequalities_deskew_range>},
};

}  // namespace
}  // namespace tessera::arith
