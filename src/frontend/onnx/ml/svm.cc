// Support vector machines: kernels with constant vectors, then matmuls.

#include <algorithm>

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/ml/classifiers.h"
#include "frontend/onnx/ml/trees.h"
#include "frontend/onnx/tensor_ops/loops.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr column(const Expr& x, int64_t i) { return slice(x, 1, i, i + 1); }

/// The kernel of each row of x with each of the vectors: (rows, vectors).
Expr kernel_of(Operation& in, const Expr& x, const Expr& vectors, const std::string& kind) {
  std::vector<float> given = in.numbers("kernel_params");
  if (!given.empty() && given.size() < 3) in.invalid("kernel_params are gamma, coef0 and degree");
  double gamma = given.empty() ? 0 : given[0], first = given.empty() ? 0 : given[1],
         degree = given.empty() ? 0 : given[2];
  if (kind == "RBF") {
    Expr apart = subtract(expand_dims(x, 1), expand_dims(vectors, 0));
    return exp(multiply(sum(multiply(apart, apart), int_array({2})), float_number(-gamma)));
  }
  Expr dots = matmul_like_numpy(in, x, transpose(vectors));
  if (kind == "LINEAR") return dots;
  dots = add(multiply(dots, float_number(gamma)), float_number(first));
  if (kind == "SIGMOID") return tanh(dots);
  if (kind != "POLY") in.invalid("an unknown kernel " + kind);
  return power(dots, float_number(degree));
}

Expr vectors_of(Operation& in, int64_t count) {
  std::vector<float> vectors = in.numbers("support_vectors");
  if (count < 1 || vectors.size() % static_cast<size_t>(count))
    in.invalid("the support vectors do not fit their number");
  return float_constant(vectors, {count, static_cast<int64_t>(vectors.size()) / count});
}

/// Pairs of classes (i, j), i before j, in the order of the scores.
std::vector<std::pair<int64_t, int64_t>> pairs_of(int64_t classes) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) out.emplace_back(i, j);
  return out;
}

/// One score for each pair of classes: (rows, pairs); above zero it speaks for the first of the pair.
Expr pair_scores(Operation& in, const Expr& x, const Ints& per_class, const std::vector<float>& rho) {
  auto classes = static_cast<int64_t>(per_class.size());
  std::vector<int64_t> starts{0};
  for (int64_t count : per_class) {
    if (count < 0 || count > (int64_t{1} << 32)) in.invalid("a class has no such number of vectors");
    starts.push_back(starts.back() + count);
  }
  int64_t vectors = starts.back();
  std::vector<float> weights = in.numbers("coefficients");
  std::vector<std::pair<int64_t, int64_t>> pairs = pairs_of(classes);
  if (static_cast<int64_t>(weights.size()) != (classes - 1) * vectors || rho.size() < pairs.size())
    in.invalid("the coefficients or rho do not fit the classes and their vectors");
  auto width = static_cast<int64_t>(pairs.size());
  std::vector<double> table(static_cast<size_t>(vectors * width));
  for (int64_t p = 0; p < width; ++p) {
    auto [i, j] = pairs[static_cast<size_t>(p)];
    auto put = [&](int64_t of, int64_t row) {
      for (int64_t v = starts[static_cast<size_t>(of)]; v < starts[static_cast<size_t>(of) + 1]; ++v)
        table[static_cast<size_t>(v * width + p)] = weights[static_cast<size_t>(row * vectors + v)];
    };
    put(i, j - 1);
    put(j, i);
  }
  Expr kernels = kernel_of(in, x, vectors_of(in, vectors), in.text("kernel_type", "LINEAR"));
  Expr scores = matmul_like_numpy(in, kernels, numbers_of(table, {vectors, width}, kFloat32));
  return add(scores, float_constant({rho.begin(), rho.begin() + width}, {width}));
}

/// How many pairs each class wins: (rows, classes).
Expr votes_of(Operation& in, const Expr& scores, int64_t classes) {
  std::vector<std::pair<int64_t, int64_t>> pairs = pairs_of(classes);
  std::vector<double> turned(pairs.size() * static_cast<size_t>(classes)), lost(static_cast<size_t>(classes));
  for (size_t p = 0; p < pairs.size(); ++p) {
    turned[p * static_cast<size_t>(classes) + static_cast<size_t>(pairs[p].first)] = 1;
    turned[p * static_cast<size_t>(classes) + static_cast<size_t>(pairs[p].second)] = -1;
    ++lost[static_cast<size_t>(pairs[p].second)];
  }
  Expr wins = cast(greater(scores, float_number(0)), kFloat32);
  Expr table = numbers_of(turned, {static_cast<int64_t>(pairs.size()), classes}, kFloat32);
  return add(matmul_like_numpy(in, wins, table), numbers_of(lost, {classes}, kFloat32));
}

/// Probabilities of classes from those of pairs (Wu, Lin and Weng, second method), rows side by side. A row stays as it is
/// once it is near enough, as if it were alone.
class Coupling {
 public:
  Coupling(Operation& in, int64_t classes) : in_(in), classes_(classes) {}

  /// r[i][j] (rows, 1): the probability of i where it is i or j.
  Expr solve(const std::vector<std::vector<Expr>>& r) {
    auto k = static_cast<size_t>(classes_);
    Array<Expr> rows;
    for (size_t t = 0; t < k; ++t) {
      Array<Expr> row(k, Expr());
      Expr square;
      for (size_t j = 0; j < k; ++j)
        if (j != t) {
          Expr own = multiply(r[j][t], r[j][t]);
          square = square.defined() ? add(square, own) : own;
          row.set(j, negative(multiply(r[j][t], r[t][j])));
        }
      row.set(t, square);
      rows.push_back(concatenate(row, 1));
    }
    q_ = kept(stack(rows, 1));
    Expr even = add(zeros_like(slice(rows[0], 1, 0, 1)), float_number(1.0 / static_cast<double>(classes_)));
    Values start{Value(concatenate(Array<Expr>(k, even), 1)), Value(ones_like(even))};
    Values out = counted_loop(
        in_, std::max<int64_t>(100, classes_), Expr(), start,
        [&](const Expr&, const Expr&, const Values& states) {
          auto [p, active] = step(states[0].tensor, states[1].tensor);
          return Step{cast(reduce("max", active, int_array({0, 1})), DataType::Bool()), {Value(p), Value(active)}, {}};
        },
        0);
    return out[0].tensor;
  }

 private:
  /// Computed once: what follows would else compute it again at each use.
  static Expr kept(const Expr& x) { return call_op("annotation.stop_fusion", {x}); }
  static Expr total(const Expr& x) { return sum(x, int_array({1}), true); }

  /// The next probabilities, and which rows are not yet near enough (1 or 0).
  std::pair<Expr, Expr> step(const Expr& start, const Expr& was_active) const {
    Expr p = start, qp = kept(sum(multiply(q_, expand_dims(p, 1)), int_array({2})));
    Expr pqp = kept(total(multiply(p, qp)));
    Expr error = reduce("max", call_op("abs", {subtract(qp, pqp)}), int_array({1}), true);
    Expr is_far = call_op("greater_equal", {error, float_number(0.005 / static_cast<double>(classes_))});
    Expr is_active = kept(call_op("logical_and", {greater(was_active, float_number(0)), is_far}));
    for (int64_t t = 0; t < classes_; ++t) {
      std::vector<double> at(static_cast<size_t>(classes_));
      at[static_cast<size_t>(t)] = 1;
      Expr is_t = numbers_of(at, {1, classes_}, kFloat32);  // the same kernels for each class
      Expr row = kept(sum(multiply(q_, expand_dims(is_t, 2)), int_array({1})));
      Expr own = total(multiply(row, is_t)), old = total(multiply(qp, is_t));
      Expr change = kept(divide(subtract(pqp, old), own)), whole = add(change, float_number(1));
      p = kept(divide(add(p, multiply(change, is_t)), whole));
      pqp = kept(divide(add(pqp, multiply(change, add(multiply(change, own), multiply(old, float_number(2))))),
                        multiply(whole, whole)));
      qp = kept(divide(add(qp, multiply(change, row)), whole));
    }
    return {where(is_active, p, start), cast(is_active, kFloat32)};
  }

  Operation& in_;
  int64_t classes_;
  Expr q_;  // (rows, classes, classes)
};

/// Each pair's score as a probability (Platt), then those of the classes.
Expr probabilities_of(Operation& in, const Expr& scores, int64_t classes) {
  std::vector<float> a = in.numbers("prob_a"), b = in.numbers("prob_b");
  std::vector<std::pair<int64_t, int64_t>> pairs = pairs_of(classes);
  if (a.size() != pairs.size() || b.size() != pairs.size())
    in.invalid("prob_a and prob_b do not fit the pairs of classes");
  if (classes > 32) in.unsupported("probabilities of more than 32 classes");
  auto width = static_cast<int64_t>(pairs.size());
  Expr each =
      subtract(float_number(1), sigmoid(add(multiply(scores, float_constant(a, {width})), float_constant(b, {width}))));
  each = clip(each, 1e-7, 1 - 1e-7);
  std::vector<std::vector<Expr>> r(static_cast<size_t>(classes), std::vector<Expr>(static_cast<size_t>(classes)));
  for (size_t p = 0; p < pairs.size(); ++p) {
    auto i = static_cast<size_t>(pairs[p].first), j = static_cast<size_t>(pairs[p].second);
    r[i][j] = column(each, static_cast<int64_t>(p));
    r[j][i] = subtract(float_number(1), r[i][j]);
  }
  return Coupling(in, classes).solve(r);
}

}  // namespace

Values svm_regressor(Operation& in) {
  std::vector<float> weights = in.numbers("coefficients"), rho = in.numbers("rho");
  int64_t supports = in.integer("n_supports", 0);
  if (rho.empty()) in.invalid("there is no rho");
  Expr x = feature_rows(in), terms = x;
  if (supports > 0) {
    if (static_cast<int64_t>(weights.size()) != supports) in.invalid("there are not as many coefficients as supports");
    terms = kernel_of(in, x, vectors_of(in, supports), in.text("kernel_type", "LINEAR"));
  }
  Expr out = add(matmul_like_numpy(in, terms, float_constant(weights, {static_cast<int64_t>(weights.size()), 1})),
                 float_number(rho[0]));
  if (in.integer("one_class", 0)) return {where(greater(out, float_number(0)), float_number(1), float_number(-1))};
  return {with_post_transform(in, out, in.text("post_transform", "NONE"))};
}

Values svm_classifier(Operation& in) {
  Ints per_class = in.integers("vectors_per_class"), labels = class_labels(in, "classlabels_ints");
  std::vector<float> rho = in.numbers("rho"), weights = in.numbers("coefficients");
  std::string transform = in.text("post_transform", "NONE");
  auto classes = static_cast<int64_t>(labels.size());
  if (rho.empty() || weights.empty()) in.invalid("there are no coefficients, or no rho");
  if (classes < 2) in.unsupported("fewer than two classes");
  Expr x = feature_rows(in);
  if (per_class.empty()) {  // one row of coefficients for each class
    if (static_cast<int64_t>(weights.size()) % classes) in.invalid("the coefficients do not fit the classes");
    Expr matrix = float_constant(weights, {classes, static_cast<int64_t>(weights.size()) / classes});
    Expr scores = add(matmul_like_numpy(in, x, transpose(matrix)), float_number(rho[0]));
    return {label_of_greatest(labels, scores), with_post_transform(in, scores, transform)};
  }
  if (static_cast<int64_t>(per_class.size()) != classes) in.invalid("there are not as many labels as classes");
  Expr scores = pair_scores(in, x, per_class, rho), votes = votes_of(in, scores, classes);
  Expr label = label_of_greatest(labels, votes);
  if (!in.numbers("prob_a").empty())
    return {label, with_post_transform(in, probabilities_of(in, scores, classes), transform)};
  if (classes == 2) scores = concatenate({negative(scores), scores}, 1);
  return {label, with_post_transform(in, scores, transform)};
}

}  // namespace tessera::onnx
