#include "arith/kind.h"
#include "arith/linear.h"
#include "arith/solve/int_solver.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

/// sum of factors * variables + rest <= 0, or == 0.
struct Row {
  std::vector<int64_t> factors;
  PrimExpr rest;
  bool equation = false;
};

class Elimination {
 public:
  explicit Elimination(const IntConstraints& system) : variables_(system->variables) {
    for (const auto& [var, range] : system->ranges) {
      bool listed = false;
      for (const Var& v : variables_) listed = listed || v.same_as(var);
      if (!listed) {
        outside_.bind(var, range);
        continue;
      }
      take(range->min <= PrimExpr(var));
      take(PrimExpr(var) <= range->min + range->extent - make_const(var->dtype, 1));
    }
    for (const PrimExpr& relation : system->relations) take(relation);
  }

  std::vector<Range> ranges;        // by variable; empty references where an end is missing
  std::vector<PrimExpr> relations;  // what could not be solved

  void run() {
    std::vector<Row> rows = std::move(rows_);
    for (size_t k = 0; k < variables_.size(); ++k) {
      std::vector<Row> low, high, next;
      for (Row& row : rows) {
        int64_t factor = row.factors[k];
        if (factor == 0) next.push_back(row);
        if (factor < 0 || (row.equation && factor != 0)) low.push_back(factor < 0 ? row : negative(row));
        if (factor > 0 || (row.equation && factor != 0)) high.push_back(factor > 0 ? row : negative(row));
      }
      ranges.push_back(range_of(k, low, high));
      if (!ranges.back().defined())
        for (const std::vector<Row>* side : {&low, &high})
          for (const Row& row : *side) relations.push_back(condition(row));
      for (const Row& a : low)
        for (const Row& b : high) add(&next, combined(a, b, k));
      rows = std::move(next);
    }
    for (const Row& row : rows) {
      PrimExpr left = outside_.simplify(condition(row));
      if (!outside_.can_prove(left)) relations.push_back(left);
    }
  }

 private:
  void take(PrimExpr condition) {
    while (is_call(condition, "tir.likely")) condition = static_cast<const Call*>(condition.get())->args[0];
    Kind kind = kind_of(condition);
    if (kind == Kind::And) {
      take(as_binary(condition)->a);
      take(as_binary(condition)->b);
      return;
    }
    bool usable = is_comparison(kind) && kind != Kind::NE && is_index_type(as_binary(condition)->a.dtype());
    if (!usable) {
      if (!is_one(condition)) relations.push_back(condition);
      return;
    }
    PrimExpr a = as_binary(condition)->a, b = as_binary(condition)->b;
    if (kind == Kind::GT || kind == Kind::GE) std::swap(a, b);
    PrimExpr apart = a - b;
    if (kind == Kind::LT || kind == Kind::GT) apart = apart + make_const(a.dtype(), 1);
    Array<PrimExpr> form = detect_linear_equation(apart, variables_);
    Row row;
    row.equation = kind == Kind::EQ;
    for (size_t i = 0; i + 1 < form.size(); ++i)
      if (const int64_t* factor = as_int(form[i])) row.factors.push_back(*factor);
    if (form.empty() || row.factors.size() != variables_.size()) {
      relations.push_back(condition);
      return;
    }
    row.rest = form[variables_.size()];
    add(&rows_, std::move(row));
  }

  static Row negative(Row row) {
    for (int64_t& factor : row.factors) factor = -factor;
    row.rest = make_zero(row.rest.dtype()) - row.rest;
    return row;
  }

  /// Adds a row unless one at least as strong is there.
  void add(std::vector<Row>* rows, Row row) {
    row.rest = outside_.simplify(row.rest);
    bool trivial = true;
    for (int64_t factor : row.factors) trivial = trivial && factor == 0;
    if (trivial && !row.equation && outside_.can_prove(row.rest <= make_zero(row.rest.dtype()))) return;
    for (Row& known : *rows) {
      if (known.factors != row.factors || known.equation != row.equation) continue;
      if (expr_equal(known.rest, row.rest)) return;
      if (row.equation) continue;
      if (outside_.can_prove(row.rest <= known.rest)) return;
      if (outside_.can_prove(known.rest <= row.rest)) {
        known = std::move(row);
        return;
      }
    }
    rows->push_back(std::move(row));
  }

  /// From  -p x + a <= 0  and  q x + b <= 0:  q a + p b <= 0.
  static Row combined(const Row& a, const Row& b, size_t k) {
    int64_t p = -a.factors[k], q = b.factors[k], g = gcd(p, q);
    p /= g, q /= g;
    Row out;
    for (size_t i = 0; i < a.factors.size(); ++i) {
      MaybeInt left = checked_mul(a.factors[i], q), right = checked_mul(b.factors[i], p);
      MaybeInt sum = left && right ? checked_add(*left, *right) : MaybeInt();
      if (!sum) throw Error(ValueError) << "the factors of the inequalities grow beyond 64 bits";
      out.factors.push_back(*sum);
    }
    out.rest = a.rest * make_const(a.rest.dtype(), q) + b.rest * make_const(b.rest.dtype(), p);
    return out;
  }

  PrimExpr without(const Row& row, size_t k) const {
    PrimExpr out = row.rest;
    for (size_t i = 0; i < row.factors.size(); ++i)
      if (i != k && row.factors[i] != 0) out = out + PrimExpr(variables_[i]) * make_const(out.dtype(), row.factors[i]);
    return out;
  }
  PrimExpr condition(const Row& row) const {
    PrimExpr sum = without(row, row.factors.size()), zero = make_zero(row.rest.dtype());
    return row.equation ? equal(sum, zero) : sum <= zero;
  }

  Range range_of(size_t k, const std::vector<Row>& low, const std::vector<Row>& high) {
    PrimExpr from, to;
    for (const Row& row : low) {  // p x >= rest
      PrimExpr rest = without(row, k), p = make_const(rest.dtype(), -row.factors[k]);
      PrimExpr end = make_zero(rest.dtype()) - floordiv(make_zero(rest.dtype()) - rest, p);
      from = from.defined() ? max(from, end) : end;
    }
    for (const Row& row : high) {  // q x <= -rest
      PrimExpr rest = without(row, k), q = make_const(rest.dtype(), row.factors[k]);
      PrimExpr end = floordiv(make_zero(rest.dtype()) - rest, q);
      to = to.defined() ? min(to, end) : end;
    }
    if (!from.defined() || !to.defined()) return nullptr;
    from = outside_.simplify(from);
    return make_range(from, outside_.simplify(to - from + make_const(from.dtype(), 1)));
  }

  Array<Var> variables_;
  std::vector<Row> rows_;
  Analyzer outside_;
};

}  // namespace

IntConstraints solve_inequalities_to_range(const IntConstraints& system) {
  Elimination elimination(system);
  elimination.run();
  Map<Var, Range> ranges;
  for (const auto& [var, range] : system->ranges) {
    bool listed = false;
    for (const Var& v : system->variables) listed = listed || v.same_as(var);
    if (!listed) ranges.set(var, range);
  }
  for (size_t i = 0; i < system->variables.size(); ++i)
    if (elimination.ranges[i].defined()) ranges.set(system->variables[i], elimination.ranges[i]);
  return make_int_constraints(system->variables, ranges, Array<PrimExpr>(elimination.relations));
}

IntConstraintsTransform solve_inequalities_deskew_range(const IntConstraints& system) {
  Elimination elimination(system);
  elimination.run();
  Analyzer analyzer;
  Map<Var, PrimExpr> src_to_dst, dst_to_src;
  Map<Var, Range> ranges;
  std::vector<Var> variables(system->variables.size());
  // A range names later variables only, so these are renamed first.
  for (size_t i = system->variables.size(); i-- > 0;) {
    Var var = system->variables[i];
    Range range = elimination.ranges[i];
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
    src_to_dst.set(var, analyzer.simplify(PrimExpr(moved) + start));
    dst_to_src.set(moved, analyzer.simplify(PrimExpr(var) - range->min));
  }
  std::vector<Var> kept;
  for (const Var& var : variables)
    if (var.defined()) kept.push_back(var);
  std::vector<PrimExpr> relations;
  for (const PrimExpr& relation : elimination.relations)
    relations.push_back(analyzer.simplify(substitute(relation, src_to_dst)));
  IntConstraintsTransformNode node;
  node.src = system;
  node.dst = make_int_constraints(Array<Var>(kept), ranges, Array<PrimExpr>(relations));
  node.src_to_dst = src_to_dst;
  node.dst_to_src = dst_to_src;
  return make(std::move(node));
}

}  // namespace tessera::arith
