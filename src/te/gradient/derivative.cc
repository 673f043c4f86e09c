#include "te/gradient/derivative.h"

#include <unordered_map>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/expr.h"

namespace tessera::te {
namespace {

PrimExpr plus(const PrimExpr& a, const PrimExpr& b) { return !a ? b : !b ? a : a + b; }
PrimExpr times(const PrimExpr& a, const PrimExpr& factor) { return a ? a * factor : a; }
PrimExpr or_zero(const PrimExpr& a, DataType dtype) { return a ? a : make_zero(dtype); }

/// What the derivative of the argument is multiplied with, in terms of the argument x and the value y.
using Factor = PrimExpr (*)(const PrimExpr& x, const PrimExpr& y);

PrimExpr number(const PrimExpr& like, double value) { return make_const(like.dtype(), value); }
PrimExpr over(const PrimExpr& like, const PrimExpr& x) { return div(number(like, 1), x); }
PrimExpr root(const PrimExpr& x) { return unary_intrin("tir.sqrt", x); }

constexpr double kLn2 = 0.69314718055994530942, kLn10 = 2.30258509299404568402;

const std::unordered_map<std::string_view, Factor>& factors() {
  using E = PrimExpr;
  static const std::unordered_map<std::string_view, Factor> table = {
      {"tir.exp", [](const E&, const E& y) { return y; }},
      {"tir.exp2", [](const E&, const E& y) { return y * number(y, kLn2); }},
      {"tir.exp10", [](const E&, const E& y) { return y * number(y, kLn10); }},
      {"tir.log", [](const E& x, const E& y) { return over(y, x); }},
      {"tir.log2", [](const E& x, const E& y) { return over(y, x * number(x, kLn2)); }},
      {"tir.log10", [](const E& x, const E& y) { return over(y, x * number(x, kLn10)); }},
      {"tir.log1p", [](const E& x, const E& y) { return over(y, x + number(x, 1)); }},
      {"tir.sqrt", [](const E&, const E& y) { return div(number(y, 0.5), y); }},
      {"tir.rsqrt", [](const E& x, const E& y) { return div(number(y, -0.5) * y, x); }},
      {"tir.sigmoid", [](const E&, const E& y) { return y * (number(y, 1) - y); }},
      {"tir.tanh", [](const E&, const E& y) { return number(y, 1) - y * y; }},
      {"tir.erf",
       [](const E& x, const E& y) {
         return number(y, 1.12837916709551257390) * unary_intrin("tir.exp", number(x, 0) - x * x);
       }},
      {"tir.sin", [](const E& x, const E&) { return unary_intrin("tir.cos", x); }},
      {"tir.cos", [](const E& x, const E& y) { return number(y, 0) - unary_intrin("tir.sin", x); }},
      {"tir.tan", [](const E&, const E& y) { return number(y, 1) + y * y; }},
      {"tir.sinh", [](const E& x, const E&) { return unary_intrin("tir.cosh", x); }},
      {"tir.cosh", [](const E& x, const E&) { return unary_intrin("tir.sinh", x); }},
      {"tir.asin", [](const E& x, const E& y) { return over(y, root(number(x, 1) - x * x)); }},
      {"tir.acos", [](const E& x, const E& y) { return div(number(y, -1), root(number(x, 1) - x * x)); }},
      {"tir.atan", [](const E& x, const E& y) { return over(y, number(x, 1) + x * x); }},
      {"tir.asinh", [](const E& x, const E& y) { return over(y, root(x * x + number(x, 1))); }},
      {"tir.acosh", [](const E& x, const E& y) { return over(y, root(x * x - number(x, 1))); }},
      {"tir.atanh", [](const E& x, const E& y) { return over(y, number(x, 1) - x * x); }},
      {"tir.fabs", [](const E& x, const E& y) { return make_select(x >= number(x, 0), number(y, 1), number(y, -1)); }},
  };
  return table;
}

/// Steps: their derivative is 0 wherever they have one.
bool is_step(std::string_view op) {
  for (const char* step : {"tir.floor", "tir.ceil", "tir.trunc", "tir.nearbyint", "tir.round"})
    if (op == step) return true;
  return false;
}

class Differentiator {
 public:
  explicit Differentiator(const Seed& seed) : seed_(seed) {}

  PrimExpr operator()(const PrimExpr& e) {
    if (!e.dtype().is_floating()) return nullptr;
    if (auto* var = e.as<VarNode>()) {
      auto known = lets_.find(var);
      return known == lets_.end() ? seed_(var) : known->second;
    }
    if (auto* load = e.as<ProducerLoad>()) return seed_(load);
    if (e.as<FloatImm>()) return nullptr;
    if (auto* op = e.as<Add>()) return plus((*this)(op->a), (*this)(op->b));
    if (auto* op = e.as<Sub>()) {
      PrimExpr right = (*this)(op->b);
      return plus((*this)(op->a), right ? make_zero(right.dtype()) - right : right);
    }
    if (auto* op = e.as<Mul>()) return plus(times((*this)(op->a), op->b), times((*this)(op->b), op->a));
    if (auto* op = e.as<Div>()) return quotient(op);
    if (auto* op = e.as<Min>()) return choice(op->a <= op->b, op->a, op->b);
    if (auto* op = e.as<Max>()) return choice(op->a >= op->b, op->a, op->b);
    if (auto* op = e.as<Select>()) return choice(op->condition, op->true_value, op->false_value);
    if (auto* op = e.as<Cast>()) {
      PrimExpr inner = (*this)(op->value);
      return inner ? cast(op->dtype, inner) : inner;
    }
    if (auto* op = e.as<Let>()) {
      lets_[op->var.get()] = (*this)(op->value);
      PrimExpr inner = (*this)(op->body);
      return inner ? make_let(op->var, op->value, inner) : inner;
    }
    if (auto* op = e.as<Call>()) return call(op);
    return reject(e);
  }

 private:
  PrimExpr quotient(const Div* op) {
    PrimExpr above = (*this)(op->a), below = (*this)(op->b);
    if (above) above = div(above, op->b);
    if (below) below = make_zero(below.dtype()) - div(below * op->a, op->b * op->b);
    return plus(above, below);
  }

  PrimExpr choice(const PrimExpr& condition, const PrimExpr& a, const PrimExpr& b) {
    PrimExpr left = (*this)(a), right = (*this)(b);
    if (!left && !right) return nullptr;
    DataType dtype = (left ? left : right).dtype();
    return make_select(condition, or_zero(left, dtype), or_zero(right, dtype));
  }

  PrimExpr call(const Call* op) {
    if (builtin::is(op, builtin::if_then_else())) {
      PrimExpr left = (*this)(op->args[1]), right = (*this)(op->args[2]);
      if (!left && !right) return nullptr;
      DataType dtype = (left ? left : right).dtype();
      return if_then_else(op->args[0], or_zero(left, dtype), or_zero(right, dtype));
    }
    bool depends = false;
    for (const PrimExpr& arg : op->args) depends = depends || mentions_a_seed(arg);
    if (!depends) return nullptr;
    auto* callee = op->op.as<OpNode>();
    std::string_view name = callee ? std::string_view(callee->name) : std::string_view();
    if (is_step(name)) return nullptr;
    auto known = factors().find(name);
    if (known != factors().end()) return times((*this)(op->args[0]), known->second(op->args[0], PrimExpr(op)));
    if (name == "tir.pow") {
      const PrimExpr &x = op->args[0], &y = op->args[1];
      PrimExpr of_base = times((*this)(x), y * pow(x, y - number(y, 1)));
      return plus(of_base, times((*this)(y), PrimExpr(op) * unary_intrin("tir.log", x)));
    }
    return reject(PrimExpr(op));
  }

  bool mentions_a_seed(const PrimExpr& e) {
    bool found = false;
    walk(
        e, [&](const VarNode* var) { found = found || seed_(var).defined() || lets_.count(var); },
        [&](const ProducerLoad* load) { found = found || seed_(load).defined(); });
    return found;
  }

  PrimExpr reject(const PrimExpr& e) {
    if (!mentions_a_seed(e)) return nullptr;
    throw Error(NotImplementedError) << "gradient: there is no rule for the derivative of " << e;
  }

  const Seed& seed_;
  std::unordered_map<const VarNode*, PrimExpr> lets_;
};

}  // namespace

PrimExpr derivative(const PrimExpr& e, const Seed& seed) { return Differentiator(seed)(e); }

}  // namespace tessera::te
