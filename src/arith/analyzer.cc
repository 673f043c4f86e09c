#include "arith/analyzer.h"

#include "arith/core.h"
#include "arith/kind.h"
#include "arith/prove.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

[[noreturn]] void rebound(const Var& var, const std::string& before, const std::string& after) {
  throw Error(ValueError) << "variable " << var->name.str() << " is bound already, to " << before
                          << ", and cannot be bound to " << after
                          << "; pass allow_override=True to replace what is known of it";
}

bool same_range(const Range& a, const Range& b) {
  return a.same_as(b) || (expr_equal(a->min, b->min) && expr_equal(a->extent, b->extent));
}

}  // namespace

Analyzer::Analyzer() : core_(std::make_unique<Core>()) {}
Analyzer::~Analyzer() = default;
Analyzer::Analyzer(Analyzer&&) noexcept = default;
Analyzer& Analyzer::operator=(Analyzer&&) noexcept = default;
Analyzer::Analyzer(const Analyzer& other) : core_(std::make_unique<Core>()) { core_->facts = other.core_->facts; }

void Analyzer::bind(const Var& var, const Range& range, bool replace) {
  ICHECK(range.defined()) << "a range to bind " << var->name.str() << " to";
  const Facts::OfVar* known = core_->facts.find(var.get());
  if (known && !replace) {
    if (known->range.defined() && same_range(known->range, range)) return;
    if (known->range.defined() &&
        !(can_prove_equal(known->range->min, range->min) && can_prove_equal(known->range->extent, range->extent)))
      rebound(var, to_text(known->range), to_text(range));
  }
  PrimExpr extent = simplify(range->extent);
  if (is_one(extent)) return bind(var, range->min, replace);
  PrimExpr min = simplify(range->min);
  IntBound low = core_->bounds(min), size = core_->bounds(extent);
  // The last value, taken as a whole first: min + (n - min) - 1 is n - 1.
  IntBound last =
      core_->bounds(simplify(make_node(Kind::Add, min, make_node(Kind::Sub, extent, make_const(extent.dtype(), 1)))));
  IntBound bound{low.min, std::min(last.max, sat_add(low.max, sat_add(size.max, -1)))};
  if (bound.is_empty()) bound.max = bound.min;
  core_->facts.vars[var.get()] = {var, bound, {}, nullptr, range};
  ++core_->bindings;
  core_->forget();
}

void Analyzer::bind(const Var& var, const PrimExpr& value, bool replace) {
  PrimExpr simple = canonical_simplify(rewrite_simplify(value));
  const Facts::OfVar* known = core_->facts.find(var.get());
  if (known && !replace && known->value.defined()) {
    if (expr_equal(known->value, simple)) return;
    rebound(var, to_text(known->value), to_text(simple));
  }
  ICHECK(!simple.same_as(var)) << "variable " << var->name.str() << " bound to itself";
  IntBound bound = core_->bounds(simple);
  core_->facts.vars[var.get()] = {var, bound, core_->modulars(simple), simple, nullptr};
  ++core_->bindings;
  core_->forget();
}

void Analyzer::bind(const Map<Var, Range>& ranges, bool replace) {
  for (const auto& [var, range] : ranges) bind(var, range, replace);
}

void Analyzer::update(const Var& var, IntBound bound, bool replace) {
  Facts::OfVar& fact =
      core_->facts.vars.try_emplace(var.get(), Facts::OfVar{var, IntBound::of(var->dtype), {}, nullptr, nullptr})
          .first->second;
  if (!replace && fact.bound != IntBound::of(var->dtype) && fact.bound != bound)
    rebound(var, "[" + std::to_string(fact.bound.min) + ", " + std::to_string(fact.bound.max) + "]",
            "[" + std::to_string(bound.min) + ", " + std::to_string(bound.max) + "]");
  fact.bound = bound;
  ++core_->bindings;
  core_->forget();
}

void Analyzer::update(const Var& var, Modular modular, bool replace) {
  Facts::OfVar& fact =
      core_->facts.vars.try_emplace(var.get(), Facts::OfVar{var, IntBound::of(var->dtype), {}, nullptr, nullptr})
          .first->second;
  if (!replace && fact.modular != Modular{} && fact.modular != modular)
    rebound(var, "a remainder of " + std::to_string(fact.modular.coeff), "one of " + std::to_string(modular.coeff));
  fact.modular = modular;
  ++core_->bindings;
  core_->forget();
}

bool Analyzer::is_bound(const Var& var) const { return core_->facts.find(var.get()); }

struct Analyzer::Scope::State {
  Core* core;
  Core::Mark mark;
};
Analyzer::Scope::Scope(Core* core, const PrimExpr& condition)
    : state_(std::make_unique<State>(State{core, core->enter(condition)})) {}
Analyzer::Scope::Scope(Scope&& other) noexcept = default;
Analyzer::Scope::~Scope() {
  if (state_) state_->core->leave(std::move(state_->mark));
}
Analyzer::Scope Analyzer::assume(const PrimExpr& condition) { return Scope(core_.get(), condition); }

IntBound Analyzer::const_int_bound(const PrimExpr& e) { return core_->bounds(e); }
Modular Analyzer::modular_set(const PrimExpr& e) { return core_->modulars(e); }
PrimExpr Analyzer::rewrite_simplify(const PrimExpr& e) { return core_->rewrite(e); }
PrimExpr Analyzer::canonical_simplify(const PrimExpr& e) { return core_->canonical(e); }

PrimExpr Analyzer::simplify(const PrimExpr& e, int steps) {
  PrimExpr out = e;
  for (int i = 0; i < steps && !is_const(out); ++i) out = i % 2 == 0 ? core_->rewrite(out) : core_->canonical(out);
  return out;
}

bool Analyzer::can_prove(const PrimExpr& condition) { return prove(*core_, condition); }

bool Analyzer::can_prove_equal(const PrimExpr& a, const PrimExpr& b) {
  if (expr_equal(a, b)) return true;
  if (a.dtype() != b.dtype() || !is_index_type(a.dtype())) return false;
  const int64_t *ca = as_int(a), *cb = as_int(b);
  if (ca && cb) return *ca == *cb;
  return prove(*core_, bare_node(Kind::EQ, a, b));
}

bool Analyzer::can_prove_greater_equal(const PrimExpr& e, int64_t low) {
  if (core_->bounds(e).min >= low) return true;
  return fits(e.dtype(), low) && prove(*core_, bare_node(Kind::LE, make_const(e.dtype(), low), e));
}

bool Analyzer::can_prove_less(const PrimExpr& e, int64_t high) {
  if (core_->bounds(e).max < high) return true;
  return fits(e.dtype(), high) && prove(*core_, bare_node(Kind::LT, e, make_const(e.dtype(), high)));
}

bool Analyzer::can_prove_less(const PrimExpr& a, const PrimExpr& b) { return prove(*core_, bare_node(Kind::LT, a, b)); }
bool Analyzer::can_prove_less_equal(const PrimExpr& a, const PrimExpr& b) {
  return prove(*core_, bare_node(Kind::LE, a, b));
}

}  // namespace tessera::arith
