#include "arith/solve/elimination.h"

#include "arith/int_math.h"
#include "arith/kind.h"
#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

bool fits(int64_t value, DataType dtype) {
  return dtype.bits >= 64 || (value < (int64_t{1} << (dtype.bits - 1)) && value >= -(int64_t{1} << (dtype.bits - 1)));
}

/// a * q + b * p; empty where it may leave the type.
PrimExpr weighted_sum(const PrimExpr& a, int64_t q, const PrimExpr& b, int64_t p) {
  const DataType dtype = a.dtype();
  const int64_t *x = as_int(a), *y = as_int(b);
  if (!x || !y) {
    if (!fits(q, dtype) || !fits(p, dtype)) return nullptr;
    return a * make_const(dtype, q) + b * make_const(dtype, p);
  }
  const MaybeInt left = checked_mul(*x, q), right = checked_mul(*y, p);
  const MaybeInt sum = left && right ? checked_add(*left, *right) : MaybeInt();
  return sum && fits(*sum, dtype) ? make_const(dtype, *sum) : PrimExpr();
}

Row negative(Row row) {
  for (int64_t& factor : row.factors) factor = -factor;
  row.rest = make_zero(row.rest.dtype()) - row.rest;
  return row;
}

/// From  -p x + a <= 0  and  q x + b <= 0:  q a + p b <= 0. Empty where numbers grow out of their type: the row follows from
/// the two and may be left out.
std::optional<Row> combined(const Row& a, const Row& b, size_t k) {
  int64_t p = -a.factors[k], q = b.factors[k];
  const int64_t g = gcd(p, q);
  p /= g, q /= g;
  Row out;
  for (size_t i = 0; i < a.factors.size(); ++i) {
    MaybeInt left = checked_mul(a.factors[i], q), right = checked_mul(b.factors[i], p);
    MaybeInt sum = left && right ? checked_add(*left, *right) : MaybeInt();
    if (!sum || !fits(*sum, a.rest.dtype())) return std::nullopt;
    out.factors.push_back(*sum);
  }
  out.rest = weighted_sum(a.rest, q, b.rest, p);
  if (!out.rest.defined()) return std::nullopt;
  return out;
}

/// The row divided by what its factors have in common; the rest of an inequality is rounded towards what integers allow.
void divide(Row* row) {
  int64_t common = 0;
  for (int64_t factor : row->factors) common = gcd(common, factor);
  const int64_t* rest = as_int(row->rest);
  if (common <= 1 || !rest || (row->equation && *rest % common != 0)) return;
  for (int64_t& factor : row->factors) factor /= common;
  row->rest = make_const(row->rest.dtype(), -floor_div(-*rest, common));
}

class Elimination {
 public:
  Elimination(const IntConstraints& system, Analyzer* outside) : variables_(system->variables), outside_(*outside) {
    for (const auto& [var, range] : system->ranges) {
      if (!is_variable(var)) {
        outside_.bind(var, range);
        continue;
      }
      take(range->min <= PrimExpr(var));
      take(PrimExpr(var) <= range->min + range->extent - make_const(var->dtype, 1));
    }
    for (const PrimExpr& relation : system->relations) take(relation);
  }

  Eliminated run() {
    for (size_t k = 0; k < variables_.size(); ++k) {
      std::vector<Row> low, high, next;
      std::vector<Row>& bounds = out_.bounds.emplace_back();
      for (Row& row : rows_) {
        const int64_t factor = row.factors[k];
        if (factor == 0) {
          next.push_back(row);
          continue;
        }
        bounds.push_back(row);
        if (factor < 0 || row.equation) low.push_back(factor < 0 ? row : negative(row));
        if (factor > 0 || row.equation) high.push_back(factor > 0 ? row : negative(row));
      }
      for (const Row& a : low)
        for (const Row& b : high)
          if (std::optional<Row> row = combined(a, b, k)) add(&next, *std::move(row));
      rows_ = std::move(next);
    }
    out_.constants = std::move(rows_);
    return std::move(out_);
  }

 private:
  bool is_variable(const Var& var) const {
    return std::any_of(variables_.begin(), variables_.end(), [&](const Var& v) { return v.same_as(var); });
  }

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
      if (!is_one(condition)) out_.others.push_back(condition);
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
      out_.others.push_back(condition);
      return;
    }
    row.rest = form[variables_.size()];
    add(&rows_, std::move(row));
  }

  /// Adds a row unless one at least as strong is there. Two that are each other's opposite are an equation.
  void add(std::vector<Row>* rows, Row row) {
    row.rest = outside_.simplify(row.rest);
    divide(&row);
    const PrimExpr zero = make_zero(row.rest.dtype());
    const bool trivial = std::all_of(row.factors.begin(), row.factors.end(), [](int64_t f) { return f == 0; });
    if (trivial && outside_.can_prove(row.equation ? equal(row.rest, zero) : row.rest <= zero)) return;
    const std::vector<int64_t> opposite = negative(row).factors;
    for (Row& known : *rows) {
      if (!trivial && known.factors == opposite && is_zero(outside_.simplify(known.rest + row.rest))) {
        known.equation = true;
        return;
      }
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

  Array<Var> variables_;
  Analyzer& outside_;
  std::vector<Row> rows_;
  Eliminated out_;
};

}  // namespace

Eliminated eliminate(const IntConstraints& system, Analyzer* outside) { return Elimination(system, outside).run(); }

}  // namespace tessera::arith
