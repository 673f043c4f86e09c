#include "arith/int_set.h"
#include "arith/solve/elimination.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

/// An end of a variable by those after it, rounded to the variable itself, and the condition that says so exactly.
struct End {
  PrimExpr value, condition;
};

/// A triangular system from its last variable to its first: each range is a box as small as is known, whose start may name
/// later variables and whose extent is the greatest of all their values.
class Solution {
 public:
  explicit Solution(const IntConstraints& system) : variables_(system->variables) {
    Eliminated rows = eliminate(system, &analyzer_);
    ranges.resize(variables_.size());
    for (const Row& row : rows.constants) {
      const PrimExpr zero = make_zero(row.rest.dtype());
      const PrimExpr condition = analyzer_.simplify(row.equation ? equal(row.rest, zero) : row.rest <= zero);
      if (!is_one(condition)) conditions.push_back(condition);
      keep(condition);
    }
    for (size_t k = variables_.size(); k-- > 0;) solve(k, rows.bounds[k]);
    for (const PrimExpr& other : rows.others) {
      conditions.push_back(other);
      keep(other);
    }
  }

  std::vector<Range> ranges;         // by variable; empty references where an end is missing
  std::vector<PrimExpr> conditions;  // the whole system
  std::vector<PrimExpr> relations;   // what the ranges do not say
  bool is_possible = true;

 private:
  /// A relation beside the ranges.
  void keep(const PrimExpr& condition) {
    const PrimExpr known = substitute(condition, fixed_);
    if (is_zero(analyzer_.simplify(known))) is_possible = false;
    if (!analyzer_.can_prove(known)) relations.push_back(condition);
  }

  /// What the other variables of the row add up to, with its rest.
  PrimExpr without(const Row& row, size_t k) const {
    PrimExpr out = row.rest;
    for (size_t i = 0; i < row.factors.size(); ++i)
      if (i != k && row.factors[i] != 0) out = out + PrimExpr(variables_[i]) * make_const(out.dtype(), row.factors[i]);
    return out;
  }

  /// Leaves out ends that another makes unnecessary. `weaker(a, b)` holds where b implies a.
  void prune(std::vector<End>* ends, const std::function<PrimExpr(PrimExpr, PrimExpr)>& weaker) {
    for (size_t i = ends->size(); i-- > 0;)
      for (size_t j = 0; j < ends->size(); ++j)
        if (i != j && analyzer_.can_prove(substitute(weaker((*ends)[i].value, (*ends)[j].value), fixed_))) {
          ends->erase(ends->begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
  }

  void solve(size_t k, const std::vector<Row>& rows) {
    const PrimExpr x = variables_[k];
    std::vector<End> equal_to, low, high;
    for (const Row& row : rows) {
      const int64_t factor = row.factors[k];
      const PrimExpr sum = without(row, k), zero = make_zero(sum.dtype());
      const PrimExpr p = make_const(sum.dtype(), factor < 0 ? -factor : factor);
      const PrimExpr bound = analyzer_.simplify(factor < 0 ? sum : zero - sum);  // of p * x
      const PrimExpr ceiling = analyzer_.simplify(zero - floordiv(zero - bound, p));
      const PrimExpr floor = analyzer_.simplify(floordiv(bound, p));
      const PrimExpr scaled = is_one(p) ? x : x * p;
      const PrimExpr condition = row.equation ? equal(scaled, bound) : factor < 0 ? scaled >= bound : scaled <= bound;
      if (row.equation) equal_to.push_back({bound, condition});
      if (row.equation || factor < 0) low.push_back({ceiling, condition});
      if (row.equation || factor > 0) high.push_back({floor, condition});
    }
    prune(&low, [](PrimExpr a, PrimExpr b) { return a <= b; });
    prune(&high, [](PrimExpr a, PrimExpr b) { return a >= b; });
    choose(k, low, high, equal_to);
  }

  /// Takes the pair of ends with the smallest extent for the range; all others stay conditions.
  void choose(size_t k, const std::vector<End>& low, const std::vector<End>& high, const std::vector<End>& equal_to) {
    const End *from = nullptr, *to = nullptr;
    PrimExpr extent;
    bool exact = false;
    for (const End& a : low)
      for (const End& b : high) {
        const PrimExpr apart = substitute(b.value - a.value + make_const(a.value.dtype(), 1), fixed_);
        const PrimExpr size = analyzer_.simplify(apart);
        const IntSet sizes = eval_set(size, sets_, &analyzer_);
        if (!sizes.has_upper_bound()) continue;
        if (extent.defined() && !analyzer_.can_prove(sizes.max() < extent)) continue;
        from = &a, to = &b, extent = sizes.max();
        exact = expr_equal(extent, size);
      }
    std::vector<PrimExpr> mine;
    auto note = [&](const End& end, bool in_range) {
      for (const PrimExpr& known : mine)
        if (known.same_as(end.condition)) return;
      mine.push_back(end.condition);
      conditions.push_back(end.condition);
      if (!in_range) left_.push_back(end.condition);
    };
    for (const End& end : equal_to) note(end, false);
    for (const End& end : low) note(end, &end == from);
    for (const End& end : high) note(end, &end == to && exact);
    if (from) fix(k, from->value, extent);
    for (const PrimExpr& condition : left_) keep(condition);
    left_.clear();
  }

  void fix(size_t k, const PrimExpr& start, const PrimExpr& extent) {
    const Var& var = variables_[k];
    if (analyzer_.can_prove(extent <= make_zero(extent.dtype()))) is_possible = false;
    const PrimExpr from = analyzer_.simplify(substitute(start, fixed_));
    ranges[k] = make_range(from, extent);
    if (is_one(extent)) {
      fixed_.set(var, from);
      return;
    }
    const IntSet starts = eval_set(from, sets_, &analyzer_);
    if (!starts.has_lower_bound() || !starts.has_upper_bound()) return;
    const PrimExpr last = analyzer_.simplify(starts.max() + extent - make_const(extent.dtype(), 1));
    sets_.set(var, IntSet::interval(starts.min(), last));
    analyzer_.bind(var,
                   make_range(starts.min(), analyzer_.simplify(last - starts.min() + make_const(extent.dtype(), 1))));
  }

  Array<Var> variables_;
  Analyzer analyzer_;           // knows the variables outside of the system and those that are solved
  Map<Var, PrimExpr> fixed_;    // variables that can have only one value
  SetOfVar sets_;               // where the others lie, whatever the later ones are
  std::vector<PrimExpr> left_;  // conditions of the variable at hand that its range does not say
};

IntConstraints impossible() { return make_int_constraints({}, {}, {make_zero(DataType::Bool())}); }

}  // namespace

Array<PrimExpr> solve_inequalities_as_condition(const IntConstraints& system) {
  return Array<PrimExpr>(Solution(system).conditions);
}

IntConstraints solve_inequalities_to_range(const IntConstraints& system) {
  Solution solution(system);
  if (!solution.is_possible) return impossible();
  Map<Var, Range> ranges;
  for (const auto& [var, range] : system->ranges) ranges.set(var, range);
  for (size_t i = 0; i < system->variables.size(); ++i)
    if (solution.ranges[i].defined()) ranges.set(system->variables[i], solution.ranges[i]);
  return make_int_constraints(system->variables, ranges, Array<PrimExpr>(solution.relations));
}

IntConstraintsTransform solve_inequalities_deskew_range(const IntConstraints& system) {
  Solution solution(system);
  if (!solution.is_possible) return make_int_constraints_transform(system, impossible(), {}, {});
  Analyzer analyzer;
  Map<Var, PrimExpr> src_to_dst, dst_to_src;
  Map<Var, Range> ranges;
  std::vector<Var> variables(system->variables.size());
  // A range names later variables only, so these are renamed first.
  for (size_t i = system->variables.size(); i-- > 0;) {
    Var var = system->variables[i];
    Range range = solution.ranges[i];
    if (!range.defined()) {
      variables[i] = var;
      src_to_dst.set(var, var);
      dst_to_src.set(var, var);
      continue;
    }
    PrimExpr start = analyzer.simplify(substitute(range->min, src_to_dst));
    PrimExpr extent = analyzer.simplify(substitute(range->extent, src_to_dst));
    if (is_one(extent)) {
      src_to_dst.set(var, start);
      continue;
    }
    Var moved = make_var(var->name + ".shifted", var->dtype);
    variables[i] = moved;
    analyzer.bind(moved, make_range(make_zero(var->dtype), extent));
    ranges.set(moved, make_range(make_zero(var->dtype), extent));
    src_to_dst.set(var, PrimExpr(moved) + start);
    dst_to_src.set(moved, analyzer.simplify(PrimExpr(var) - range->min));
  }
  std::vector<Var> kept;
  for (const Var& var : variables)
    if (var.defined()) kept.push_back(var);
  std::vector<PrimExpr> relations;
  for (const PrimExpr& relation : solution.relations) {
    const PrimExpr moved = analyzer.simplify(substitute(relation, src_to_dst));
    if (!is_one(moved)) relations.push_back(moved);
  }
  return make_int_constraints_transform(
      system, make_int_constraints(Array<Var>(kept), ranges, Array<PrimExpr>(relations)), src_to_dst, dst_to_src);
}

}  // namespace tessera::arith
