// Functions of this room that other languages call.

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "arith/linear.h"
#include "arith/nodes.h"
#include "runtime/registry.h"

namespace tessera::arith {
namespace {

/// An analyzer as a function from the name of a method to the method.
PackedFunc create_analyzer() {
  auto self = std::make_shared<Analyzer>();
  return typed("analyzer", [self](std::string name) -> PackedFunc {
    if (name == "const_int_bound")
      return typed(name, [self](PrimExpr e) { return as_object(self->const_int_bound(e)); });
    if (name == "modular_set") return typed(name, [self](PrimExpr e) { return as_object(self->modular_set(e)); });
    if (name == "const_int_bound_update")
      return typed(name, [self](Var var, ConstIntBound bound, bool replace) {
        self->update(var, IntBound{bound->min_value, bound->max_value}, replace);
      });
    if (name == "Simplify") return typed(name, [self](PrimExpr e, int steps) { return self->simplify(e, steps); });
    if (name == "rewrite_simplify") return typed(name, [self](PrimExpr e) { return self->rewrite_simplify(e); });
    if (name == "canonical_simplify") return typed(name, [self](PrimExpr e) { return self->canonical_simplify(e); });
    if (name == "int_set")
      return typed(name, [self](PrimExpr e, SetOfVar domains) { return eval_set(e, domains, self.get()); });
    if (name == "bind")
      return typed(name, [self](Var var, ObjectRef value) {
        if (Range range = downcast_or_null<Range>(value)) return self->bind(var, range);
        self->bind(var, Any::of_object(value.get()).to<PrimExpr>());
      });
    if (name == "can_prove") return typed(name, [self](PrimExpr e) { return self->can_prove(e); });
    if (name == "can_prove_equal")
      return typed(name, [self](PrimExpr a, PrimExpr b) { return self->can_prove_equal(a, b); });
    if (name == "enter_constraint_context")
      return typed(name, [self](PrimExpr condition) {
        // Ends once: when called, or when the last holder lets go of it.
        auto scope = std::make_shared<std::optional<Analyzer::Scope>>(self->assume(condition));
        return typed("exit_constraint_context", [self, scope]() { scope->reset(); });
      });
    throw Error(ValueError) << "an analyzer has no method " << name;
  });
}

Globals globals{
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

    {"arith.DetectLinearEquation", detect_linear_equation},
    {"arith.DetectClipBound", detect_clip_bound},
    {"arith.DeduceBound", deduce_bound},
};

}  // namespace
}  // namespace tessera::arith
