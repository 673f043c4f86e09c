// Steps of optimizers: parameters and what is kept of their gradients, after one step. Inputs are a learning rate, the number
// of steps before, and then one tensor of each kind for every parameter.

#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The inputs of one parameter, kind by kind, and the scalars that all share.
class Step {
 public:
  Step(Operation& in, size_t kinds) : in_(in), count_(in.size() < 2 ? 0 : (in.size() - 2) / kinds) {
    if (count_ == 0 || 2 + count_ * kinds != in.size()) in.invalid("the inputs are not as many of each kind");
  }
  size_t count() const { return count_; }
  Expr operator()(size_t kind, size_t i) const { return in_[2 + kind * count_ + i]; }
  Expr number(double value, size_t i) const { return make_scalar(value, in_.dtype((*this)(0, i))); }
  Expr rate(size_t i) const { return scalar(in_[0], i); }
  /// The number of steps before, as a float.
  Expr steps(size_t i) const { return scalar(in_[1], i); }
  /// The gradient, with that of half the squared norm of the parameter times a number.
  Expr gradient(size_t i) const {
    const double norm = in_.number("norm_coefficient", 0);
    return norm == 0 ? (*this)(1, i) : add(multiply(number(norm, i), (*this)(0, i)), (*this)(1, i));
  }

 private:
  Expr scalar(const Expr& x, size_t i) const {
    return cast_if_needed(in_, in_.rank(x) == 0 ? x : reshape(x, Array<PrimExpr>{}), in_.dtype((*this)(0, i)));
  }
  Operation& in_;
  size_t count_;
};

/// The new values of all parameters, kind by kind, from those of one.
Values each(const Step& step, const std::function<std::vector<Expr>(size_t)>& one) {
  std::vector<Values> kinds;
  for (size_t i = 0; i < step.count(); ++i) {
    std::vector<Expr> made = one(i);
    kinds.resize(made.size());
    for (size_t kind = 0; kind < made.size(); ++kind) kinds[kind].push_back(made[kind]);
  }
  Values out;
  for (const Values& kind : kinds) out.insert(out.end(), kind.begin(), kind.end());
  return out;
}

Values adagrad(Operation& in) {
  Step step(in, 3);
  const double decay = in.number("decay_factor", 0), epsilon = in.number("epsilon", 1e-6f);
  return each(step, [&](size_t i) -> std::vector<Expr> {
    Expr rate = divide(step.rate(i), add(step.number(1, i), multiply(step.steps(i), step.number(decay, i))));
    Expr gradient = step.gradient(i), squares = add(step(2, i), multiply(gradient, gradient));
    Expr width = add(call_op("sqrt", {squares}), step.number(epsilon, i));
    return {subtract(step(0, i), divide(multiply(rate, gradient), width)), squares};
  });
}

Values adam(Operation& in) {
  Step step(in, 4);
  const double alpha = in.number("alpha", 0.9f), beta = in.number("beta", 0.999f);
  const double epsilon = in.number("epsilon", 1e-6f), after = in.number("norm_coefficient_post", 0);
  return each(step, [&](size_t i) -> std::vector<Expr> {
    auto mixed = [&](double keep, const Expr& before, const Expr& now) {
      return add(multiply(step.number(keep, i), before), multiply(step.number(1 - keep, i), now));
    };
    Expr gradient = step.gradient(i), mean = mixed(alpha, step(2, i), gradient);
    Expr squares = mixed(beta, step(3, i), multiply(gradient, gradient));
    Expr width = add(call_op("sqrt", {squares}), step.number(epsilon, i));
    // Both means start at 0; the rate makes up for it from the first step on.
    auto seen = [&](double keep) {
      return subtract(step.number(1, i), call_op("power", {step.number(keep, i), step.steps(i)}));
    };
    Expr has_steps = greater(step.steps(i), step.number(0, i));
    Expr corrected = divide(call_op("sqrt", {seen(beta)}), where(has_steps, seen(alpha), step.number(1, i)));
    Expr rate = multiply(step.rate(i), where(has_steps, corrected, step.number(1, i)));
    Expr out = subtract(step(0, i), divide(multiply(rate, mean), width));
    return {after == 0 ? out : multiply(step.number(1 - after, i), out), mean, squares};
  });
}

Values momentum(Operation& in) {
  Step step(in, 3);
  const double alpha = in.number("alpha", 0), beta = in.number("beta", 0);
  const std::string mode = in.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") in.invalid("the mode is standard or nesterov");
  return each(step, [&](size_t i) -> std::vector<Expr> {
    Expr gradient = step.gradient(i), has_steps = greater(step.steps(i), step.number(0, i));
    Expr weight = where(has_steps, step.number(beta, i), step.number(1, i));
    Expr velocity = add(multiply(step.number(alpha, i), step(2, i)), multiply(weight, gradient));
    Expr ahead = mode == "standard" ? velocity : add(gradient, multiply(step.number(alpha, i), velocity));
    return {subtract(step(0, i), multiply(step.rate(i), ahead)), velocity};
  });
}

}  // namespace

Rows training_rows() {
  return {
      {"Adagrad", 1, adagrad, kTrainingDomain},
      {"Adam", 1, adam, kTrainingDomain},
      {"Momentum", 1, momentum, kTrainingDomain},
  };
}

}  // namespace tessera::onnx
