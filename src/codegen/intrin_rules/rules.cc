// The slots "llvm.FLowerIntrinsic": real functions become expressions, which vectorise and need no library.
// float32 and float64 are computed in their own precision, the 16-bit types in float32. What has no rule here for a
// type (float64 erf and pow; atan and its like) is left to the C library; sin and cos are in codegen/llvm/sine.cc.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"
#include "runtime/registry.h"

namespace tessera::codegen {
namespace {

using Unary = PrimExpr (*)(Steps&, const RealType&, const PrimExpr&);

PrimExpr log1p_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  // What 1 + x rounds away is made good by the factor x / (u - 1).
  PrimExpr one = real(1), u = steps(one + x);
  PrimExpr usual = log_of(steps, real, u) * div(x, u - one);
  return make_select(logical_or(equal(u, one), equal(x, real.inf())), x, usual);
}

PrimExpr tanh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr square = steps(x * x);
  PrimExpr p = real.is_double() ? polynomial(square, real, coefficients::kTanh64)
                                : polynomial(square, real, coefficients::kTanh32);
  PrimExpr near = x + x * square * p;
  PrimExpr far = steps(real(1) - div(real(2), exp_of(steps, real, steps(size + size)) + real(1)));
  return make_select(size < real(0.625), near, make_select(x < real(0), real(0) - far, far));
}

PrimExpr sigmoid_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr decay = steps(exp_of(steps, real, steps(real(0) - unary_intrin("tir.fabs", x))));
  PrimExpr upper = steps(div(real(1), real(1) + decay));
  return make_select(x < real(0), decay * upper, upper);
}

PrimExpr erf_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  if (real.is_double()) return nullptr;
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr square = steps(x * x);
  PrimExpr near = x + x * polynomial(square, real, coefficients::kErf32);
  PrimExpr bounded = steps(make_select(size > real(4), real(4), size));
  PrimExpr rest = steps(polynomial(bounded, real, coefficients::kLogErfc32));
  PrimExpr far = steps(real(1) - exp_of(steps, real, rest));
  return make_select(size < real(1), near, make_select(x < real(0), real(0) - far, far));
}

/// x^n by multiplication, for the few n that programs write; empty for others.
PrimExpr small_power(Steps& steps, const PrimExpr& x, const PrimExpr& y) {
  auto* broadcast = y.as<Broadcast>();
  auto* exponent = (broadcast ? broadcast->value : y).as<FloatImm>();
  if (!exponent) return nullptr;
  if (exponent->value == 1) return x;
  PrimExpr square = steps(x * x);
  if (exponent->value == 2) return square;
  if (exponent->value == 3) return square * x;
  if (exponent->value == 4) return square * square;
  return nullptr;
}

/// `call` with its operands in a type that is computed with, the answer in the type that was asked for.
template <class F>
PrimExpr lower(const PrimExpr& expr, F write) {
  auto* call = expr.as<Call>();
  DataType dtype = call->dtype;
  if (!dtype.is_floating() || (dtype.bits != 16 && dtype.bits != 32 && dtype.bits != 64)) return expr;
  RealType real{dtype.bits == 16 ? DataType::Float(32, dtype.lanes) : dtype};
  Steps steps;
  std::vector<PrimExpr> args;
  for (const PrimExpr& arg : call->args) args.push_back(steps(cast(real.dtype, arg)));
  PrimExpr out = write(steps, real, args);
  return out ? steps.finish(cast(dtype, out)) : expr;
}

void add_rule(const char* op, Unary function) {
  auto rule = [function](PrimExpr call) {
    return lower(call, [&](Steps& steps, const RealType& real, const std::vector<PrimExpr>& args) {
      return function(steps, real, args[0]);
    });
  };
  Op::define(op).set("llvm.FLowerIntrinsic", typed(op, rule));
}

PrimExpr lower_pow(PrimExpr call) {
  return lower(call, [](Steps& steps, const RealType& real, const std::vector<PrimExpr>& args) -> PrimExpr {
    if (PrimExpr product = small_power(steps, args[0], args[1])) return product;
    return real.is_double() ? PrimExpr(nullptr) : pow_of(steps, real, args[0], args[1]);
  });
}

const bool registered = [] {
  add_rule("tir.exp", exp_of);
  add_rule("tir.exp2", exp2_of);
  add_rule("tir.exp10", exp10_of);
  add_rule("tir.log", log_of);
  add_rule("tir.log2", log2_of);
  add_rule("tir.log10", log10_of);
  add_rule("tir.log1p", log1p_of);
  add_rule("tir.tanh", tanh_of);
  add_rule("tir.sigmoid", sigmoid_of);
  add_rule("tir.erf", erf_of);
  Op::define("tir.pow").set("llvm.FLowerIntrinsic", typed("tir.pow", lower_pow));
  // Beyond the operators that v0.10 vectorises: these work on all lanes at once here.
  for (const char* op :
       {"tir.erf", "tir.sigmoid", "tir.log1p", "tir.rsqrt", "tir.nearbyint", "tir.isnan", "tir.sin", "tir.cos"})
    Op::define(op).set("TVectorizable", Any(true), 11);
  return true;
}();

}  // namespace
}  // namespace tessera::codegen
