// The slots "llvm.FLowerIntrinsic", and those of LLVM's GPU targets: real functions become expressions, which vectorise
// and need no library.
// float32 and float64 are computed in their own precision, the 16-bit types in float32. What has no rule here for a
// type (fmod, hypot, nextafter, ldexp) is left to the C library; sin, cos, tan and the pow of float64 are in codegen/llvm.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"
#include "runtime/registry.h"

namespace tessera::codegen {
namespace {

using Unary = PrimExpr (*)(Steps&, const RealType&, const PrimExpr&);

PrimExpr sigmoid_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr decay = steps(decay_of(steps, real, steps(real(0) - unary_intrin("tir.fabs", x))));
  PrimExpr upper = steps(div(real(1), real(1) + decay));
  return make_select(x < real(0), decay * upper, upper);
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

/// Every kind of target that LLVM makes code for.
void set_rule(const char* op, const PackedFunc& rule) {
  for (const char* kind : {"llvm", "nvptx", "rocm"}) Op::define(op).set(std::string(kind) + ".FLowerIntrinsic", rule);
}

void add_rule(const char* op, Unary function) {
  auto rule = [function](PrimExpr call) {
    return lower(call, [&](Steps& steps, const RealType& real, const std::vector<PrimExpr>& args) {
      return function(steps, real, args[0]);
    });
  };
  set_rule(op, typed(op, rule));
}

PrimExpr lower_pow(PrimExpr call) {
  return lower(call, [](Steps& steps, const RealType& real, const std::vector<PrimExpr>& args) -> PrimExpr {
    if (PrimExpr product = small_power(steps, args[0], args[1])) return product;
    return real.is_double() ? PrimExpr(nullptr) : pow_of(steps, real, args[0], args[1]);
  });
}

PrimExpr lower_atan2(PrimExpr call) {
  return lower(call, [](Steps& steps, const RealType& real, const std::vector<PrimExpr>& args) {
    return atan2_of(steps, real, args[0], args[1]);
  });
}

const bool registered = [] {
  add_rule("tir.exp", [](Steps& steps, const RealType& real, const PrimExpr& x) { return exp_of(steps, real, x); });
  add_rule("tir.exp2", exp2_of);
  add_rule("tir.exp10", exp10_of);
  add_rule("tir.log", log_of);
  add_rule("tir.log2", log2_of);
  add_rule("tir.log10", log10_of);
  add_rule("tir.log1p", log1p_of);
  add_rule("tir.tanh", tanh_of);
  add_rule("tir.sigmoid", sigmoid_of);
  add_rule("tir.erf", erf_of);
  add_rule("tir.sinh", sinh_of);
  add_rule("tir.cosh", cosh_of);
  add_rule("tir.asinh", asinh_of);
  add_rule("tir.acosh", acosh_of);
  add_rule("tir.atanh", atanh_of);
  add_rule("tir.asin", asin_of);
  add_rule("tir.acos", acos_of);
  add_rule("tir.atan", atan_of);
  set_rule("tir.atan2", typed("tir.atan2", lower_atan2));
  set_rule("tir.pow", typed("tir.pow", lower_pow));
  // Beyond the operators that v0.10 vectorises: these work on all lanes at once here.
  for (const char* op : {"tir.erf", "tir.sigmoid", "tir.log1p", "tir.rsqrt", "tir.nearbyint", "tir.isnan", "tir.sin",
                         "tir.cos", "tir.tan", "tir.sinh", "tir.cosh", "tir.asinh", "tir.acosh", "tir.atanh",
                         "tir.asin", "tir.acos", "tir.atan", "tir.atan2"})
    Op::define(op).set("TVectorizable", Any(true), 11);
  return true;
}();

}  // namespace
}  // namespace tessera::codegen
