#include "te/solve_axes.h"

#include <optional>

#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::te {

AxisSolver::AxisSolver(const Array<IterVar>& axes, const Map<Var, Range>& known) {
  analyzer_.bind(known);
  for (const IterVar& axis : axes) fresh_.set(axis->var, make_var(axis->var->name, axis->var->dtype));
  for (const IterVar& axis : axes)
    open_.push_back(make_iter_var(in_own_terms(axis->dom), downcast<Var>(fresh_[axis->var]), axis->iter_type));
}

PrimExpr AxisSolver::in_own_terms(const PrimExpr& e) const {
  PrimExpr out = substitute(e, fresh_);
  // a solution may mention axes that were closed after it
  for (size_t i = 0; i < solutions_.size(); ++i) out = substitute(out, solutions_);
  return out;
}

Range AxisSolver::in_own_terms(const Range& range) const {
  return make_range(in_own_terms(range->min), in_own_terms(range->extent));
}

void AxisSolver::add(const PrimExpr& left, const PrimExpr& right,
                     const std::function<bool(const IterVar&)>& may_solve) {
  PrimExpr e = analyzer_.simplify(in_own_terms(left)), value = cast(e.dtype(), right);
  std::optional<size_t> best;
  Array<PrimExpr> best_form;  // factor and rest
  for (size_t i = 0; i < open_.size(); ++i) {
    if (!may_solve(open_[i]) || !uses_var(e, open_[i]->var)) continue;
    Array<PrimExpr> form = arith::detect_linear_equation(e, {open_[i]->var});
    if (form.empty() || !as_int(form[0]) || *as_int(form[0]) == 0) continue;
    if (!best || is_better(i, form, *best, best_form)) best = i, best_form = form;
  }
  if (best) solve(*best, *as_int(best_form[0]), value - best_form[1]);
  else conditions_.push_back(equal(e, value));
}

std::vector<PrimExpr> AxisSolver::conditions() {
  std::vector<PrimExpr> out;
  arith::Analyzer analyzer(analyzer_);
  for (const IterVar& axis : open_) analyzer.bind(axis->var, axis->dom);
  for (const PrimExpr& condition : conditions_) {
    PrimExpr simple = analyzer.simplify(in_own_terms(condition));
    if (!is_one(simple)) out.push_back(simple);
  }
  return out;
}

/// A factor of 1 needs no division; then the longer axis is the better one to be rid of.
bool AxisSolver::is_better(size_t a, const Array<PrimExpr>& form_a, size_t b, const Array<PrimExpr>& form_b) const {
  bool unit_a = std::abs(*as_int(form_a[0])) == 1, unit_b = std::abs(*as_int(form_b[0])) == 1;
  if (unit_a != unit_b) return unit_a;
  auto *extent_a = as_int(open_[a]->dom->extent), *extent_b = as_int(open_[b]->dom->extent);
  return extent_a && extent_b && *extent_a > *extent_b;
}

void AxisSolver::solve(size_t i, int64_t factor, const PrimExpr& right) {
  IterVar axis = open_[i];
  PrimExpr zero = make_zero(right.dtype()), divisor = make_const(right.dtype(), factor), value = right;
  if (factor == -1) {
    value = zero - right;
  } else if (factor != 1) {
    value = floordiv(right, divisor);
    conditions_.push_back(equal(floormod(right, divisor), zero));
  }
  value = analyzer_.simplify(value);
  conditions_.push_back(value >= axis->dom->min);
  conditions_.push_back(value < axis->dom->min + axis->dom->extent);
  open_.erase(open_.begin() + static_cast<ptrdiff_t>(i));
  solutions_.set(axis->var, value);
  for (IterVar& other : open_) other = make_iter_var(in_own_terms(other->dom), other->var, other->iter_type);
}

}  // namespace tessera::te
