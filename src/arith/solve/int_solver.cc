#include "arith/solve/int_solver.h"

#include "arith/int_set.h"
#include "arith/kind.h"
#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

PrimExpr number(const PrimExpr& like, int64_t value) { return make_const(like.dtype(), value); }
PrimExpr ceil_quotient(const PrimExpr& a, const PrimExpr& b) { return number(a, 0) - floordiv(number(a, 0) - a, b); }

// ---- equations ----

/// Rows of integer factors with a symbolic right side, brought to diagonal form by unimodular steps.
struct System {
  std::vector<std::vector<int64_t>> rows;     // of A
  std::vector<PrimExpr> right;                // A x = right
  std::vector<std::vector<int64_t>> columns;  // V, with x = V y

  void swap_columns(size_t i, size_t j) {
    if (i == j) return;
    for (auto& row : rows) std::swap(row[i], row[j]);
    for (auto& row : columns) std::swap(row[i], row[j]);
  }
  /// column[to] = times * column[from] - column[to], so that what a new variable adds to one, it takes from another.
  void subtract_from_column(size_t to, size_t from, int64_t times) {
    auto subtract = [&](std::vector<std::vector<int64_t>>& matrix) {
      for (auto& row : matrix) {
        MaybeInt product = checked_mul(row[from], times);
        MaybeInt difference = product ? checked_sub(*product, row[to]) : product;
        if (!difference) throw Error(ValueError) << "the factors of the equations grow beyond 64 bits";
        row[to] = *difference;
      }
    };
    subtract(rows);
    subtract(columns);
  }
  void add_row(size_t to, size_t from, int64_t times) {
    for (size_t j = 0; j < rows[to].size(); ++j) {
      MaybeInt product = checked_mul(rows[from][j], times);
      MaybeInt sum = product ? checked_add(rows[to][j], *product) : product;
      if (!sum) throw Error(ValueError) << "the factors of the equations grow beyond 64 bits";
      rows[to][j] = *sum;
    }
    right[to] = right[to] + right[from] * number(right[from], times);
  }

  /// Leaves a non-zero diagonal in the first `rank` rows and zeros elsewhere.
  size_t diagonalize() {
    size_t rank = 0, width = columns.size();
    while (rank < rows.size() && rank < width) {
      size_t row = rank, column = rank;
      bool found = false;
      for (size_t i = rank; i < rows.size() && !found; ++i)
        for (size_t j = rank; j < width && !found; ++j)
          if (rows[i][j] != 0) row = i, column = j, found = true;
      if (!found) break;
      std::swap(rows[row], rows[rank]);
      std::swap(right[row], right[rank]);
      swap_columns(column, rank);
      for (bool clean = false; !clean;) {
        clean = true;
        for (size_t i = 0; i < rows.size(); ++i) {
          if (i == rank || rows[i][rank] == 0) continue;
          add_row(i, rank, -(rows[i][rank] / rows[rank][rank]));
          if (rows[i][rank] == 0) continue;
          std::swap(rows[i], rows[rank]);
          std::swap(right[i], right[rank]);
          clean = false;
        }
        for (size_t j = rank + 1; j < width; ++j) {
          if (rows[rank][j] == 0) continue;
          subtract_from_column(j, rank, rows[rank][j] / rows[rank][rank]);
          if (rows[rank][j] == 0) continue;
          swap_columns(j, rank);
          clean = false;
        }
      }
      ++rank;
    }
    return rank;
  }
};

/// The inverse of a unimodular matrix, by elimination on integers.
std::vector<std::vector<int64_t>> inverse_of(std::vector<std::vector<int64_t>> matrix) {
  size_t n = matrix.size();
  std::vector<std::vector<int64_t>> out(n, std::vector<int64_t>(n, 0));
  for (size_t i = 0; i < n; ++i) out[i][i] = 1;
  auto add = [&](size_t to, size_t from, int64_t times) {
    for (size_t j = 0; j < n; ++j) matrix[to][j] += matrix[from][j] * times, out[to][j] += out[from][j] * times;
  };
  for (size_t k = 0; k < n; ++k) {
    for (bool clean = false; !clean;) {
      clean = true;
      for (size_t i = k; i < n; ++i) {
        if (i == k || matrix[i][k] == 0) continue;
        if (matrix[k][k] == 0) {
          add(k, i, 1);
        }
        add(i, k, -(matrix[i][k] / matrix[k][k]));
        if (matrix[i][k] == 0) continue;
        std::swap(matrix[i], matrix[k]);
        std::swap(out[i], out[k]);
        clean = false;
      }
    }
    if (matrix[k][k] < 0)
      for (size_t j = 0; j < n; ++j) matrix[k][j] = -matrix[k][j], out[k][j] = -out[k][j];
    for (size_t i = 0; i < k; ++i) add(i, k, -matrix[i][k]);
  }
  return out;
}

PrimExpr linear_sum(const std::vector<int64_t>& factors, const std::vector<PrimExpr>& terms, const PrimExpr& like) {
  PrimExpr out = number(like, 0);
  for (size_t i = 0; i < factors.size(); ++i)
    if (factors[i] != 0) out = out + terms[i] * number(like, factors[i]);
  return out;
}

}  // namespace

// ---- nodes ----

IntGroupBounds make_int_group_bounds(const PrimExpr& coef, const Array<PrimExpr>& lower, const Array<PrimExpr>& equal,
                                     const Array<PrimExpr>& upper) {
  const int64_t* value = as_int(coef);
  if (!value || *value <= 0)
    throw Error(ValueError) << "the factor of IntGroupBounds is a positive constant, not " << to_text(coef);
  IntGroupBoundsNode node;
  node.coef = coef;
  node.lower = lower;
  node.equal = equal;
  node.upper = upper;
  return make(std::move(node));
}

IntConstraintsTransform make_int_constraints_transform(const IntConstraints& src, const IntConstraints& dst,
                                                       const Map<Var, PrimExpr>& src_to_dst,
                                                       const Map<Var, PrimExpr>& dst_to_src) {
  IntConstraintsTransformNode node;
  node.src = src;
  node.dst = dst;
  node.src_to_dst = src_to_dst;
  node.dst_to_src = dst_to_src;
  return make(std::move(node));
}

IntGroupBounds int_group_bounds_of(const Range& range) {
  Analyzer analyzer;
  PrimExpr one = number(range->min, 1);
  if (is_one(range->extent)) return make_int_group_bounds(one, {}, {range->min}, {});
  return make_int_group_bounds(one, {range->min}, {}, {analyzer.simplify(range->min + range->extent - one)});
}

Range find_best_range(const IntGroupBounds& bounds, const Map<Var, Range>& others) {
  Analyzer analyzer;
  analyzer.bind(others);
  const PrimExpr& coef = bounds->coef;
  PrimExpr low, high;
  auto raise = [&](const PrimExpr& e) { low = low.defined() ? max(low, e) : e; };
  auto drop = [&](const PrimExpr& e) { high = high.defined() ? min(high, e) : e; };
  for (const PrimExpr& e : bounds->lower) raise(ceil_quotient(e, coef));
  for (const PrimExpr& e : bounds->upper) drop(floordiv(e, coef));
  for (const PrimExpr& e : bounds->equal) raise(ceil_quotient(e, coef)), drop(floordiv(e, coef));
  if (!low.defined() || !high.defined()) return nullptr;
  low = analyzer.simplify(low);
  return make_range(low, analyzer.simplify(high - low + number(low, 1)));
}

IntConstraints make_int_constraints(const Array<Var>& variables, const Map<Var, Range>& ranges,
                                    const Array<PrimExpr>& relations) {
  IntConstraintsNode node;
  if (variables.defined()) node.variables = variables;
  if (ranges.defined()) node.ranges = ranges;
  if (relations.defined()) node.relations = relations;
  return make(std::move(node));
}

IntConstraintsTransform solve_linear_equations(const IntConstraints& system) {
  const Array<Var>& variables = system->variables;
  if (variables.empty()) return make_int_constraints_transform(system, system, {}, {});
  size_t n = variables.size();
  System matrix;
  std::vector<PrimExpr> others;  // relations that are not equations with constant factors
  for (const PrimExpr& relation : system->relations) {
    const auto* equation = relation.as<EQ>();
    Array<PrimExpr> form;
    if (equation) form = detect_linear_equation(equation->a - equation->b, variables);
    std::vector<int64_t> row;
    for (size_t i = 0; i + 1 < form.size(); ++i)
      if (const int64_t* factor = as_int(form[i])) row.push_back(*factor);
    if (form.empty() || row.size() != n) {
      others.push_back(relation);
      continue;
    }
    matrix.rows.push_back(row);
    matrix.right.push_back(number(form[n], 0) - form[n]);
  }
  for (size_t i = 0; i < n; ++i) {
    matrix.columns.emplace_back(n, 0);
    matrix.columns[i][i] = 1;
  }
  size_t rank = matrix.diagonalize();

  Analyzer analyzer;
  analyzer.bind(system->ranges);
  PrimExpr like = variables[0];
  std::vector<PrimExpr> relations, values;  // values of y
  bool impossible = false;
  for (size_t i = 0; i < matrix.rows.size(); ++i) {
    PrimExpr right = analyzer.simplify(matrix.right[i]);
    int64_t d = i < rank ? matrix.rows[i][i] : 0;
    if (d < 0) d = -d, right = analyzer.simplify(number(like, 0) - right);
    PrimExpr condition = analyzer.simplify(equal(d ? floormod(right, number(like, d)) : right, number(like, 0)));
    if (is_zero(condition)) impossible = true;
    if (!is_one(condition)) relations.push_back(condition);
    if (i < rank) values.push_back(d == 1 ? right : floordiv(right, number(like, d)));
  }
  if (impossible)
    return make_int_constraints_transform(system, make_int_constraints({}, {}, {bool_imm(false)}), {}, {});

  std::vector<std::vector<int64_t>> back = inverse_of(matrix.columns);
  std::vector<PrimExpr> old(variables.begin(), variables.end());
  std::vector<Var> free;
  Map<Var, PrimExpr> src_to_dst, dst_to_src;
  Map<Var, Range> ranges;
  SetOfVar domains = as_sets(system->ranges);
  for (size_t j = rank; j < n; ++j) {
    PrimExpr from_old = analyzer.simplify(linear_sum(back[j], old, like));
    Var var = make_var("n" + std::to_string(j - rank), like.dtype());
    free.push_back(var);
    values.push_back(var);
    dst_to_src.set(var, from_old);
    IntSet set = eval_set(from_old, domains, &analyzer);
    if (set.has_lower_bound() && set.has_upper_bound()) {
      bool known = !uses_var(set.min(), [&](const VarNode* v) { return src_to_dst.count(Var(v)); });
      for (const Var& v : variables) known = known && !uses_var(set.min(), v) && !uses_var(set.max(), v);
      if (known) ranges.set(var, set.cover_range(nullptr));
    }
  }
  Analyzer inside;
  inside.bind(ranges);
  for (size_t i = 0; i < n; ++i)
    src_to_dst.set(variables[i], inside.simplify(linear_sum(matrix.columns[i], values, like)));
  // What the old ranges and the other relations still ask of the new variables.
  auto keep = [&](const PrimExpr& condition) {
    PrimExpr left = inside.simplify(substitute(condition, src_to_dst));
    if (!inside.can_prove(left)) relations.push_back(left);
  };
  for (const Var& var : variables) {
    Range range = system->ranges.get_or_null(var);
    if (!range.defined()) continue;
    keep(range->min <= PrimExpr(var));
    keep(PrimExpr(var) < range->min + range->extent);
  }
  for (const PrimExpr& relation : others) keep(relation);
  IntConstraints dst = make_int_constraints(Array<Var>(free), ranges, Array<PrimExpr>(relations));
  return make_int_constraints_transform(system, dst, src_to_dst, dst_to_src);
}

}  // namespace tessera::arith
