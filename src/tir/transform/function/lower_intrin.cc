// Calls and divisions become what the target has: by the rules operators carry for it, and by arithmetic.
//
// A rule is a function from call to expression in the operator's slot "<kind>.FLowerIntrinsic" (or that of one of the
// target's keys), else "default.FLowerIntrinsic"; an empty answer means the next rule is asked.
//   floordiv(x, 8)   =>   x >> 3                       floormod(x, 8)   =>   x & 7
//   floordiv(x, y)   =>   x / y                        where x and y are known not to be negative
//   floordiv(x, c)   =>   x / c - (x % c < 0)          where only c is

#include "arith/analyzer.h"
#include "base/stack.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/target/target.h"
#include "tir/attrs.h"
#include "tir/transform/function/require_target.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class IntrinLowerer {
 public:
  explicit IntrinLowerer(const Target& target) {
    slots_.push_back(target->kind->name.str() + ".FLowerIntrinsic");
    for (const String& key : target->keys)
      if (key.str() + ".FLowerIntrinsic" != slots_[0]) slots_.push_back(key.str() + ".FLowerIntrinsic");
    slots_.push_back("default.FLowerIntrinsic");
    rewriter_.share_results(false);
    rewriter_.on([this](const Call* op) -> PrimExpr { return on_call(op); });
    rewriter_.on([this](const FloorDiv* op) -> PrimExpr { return on_floor_div(op); });
    rewriter_.on([this](const FloorMod* op) -> PrimExpr { return on_floor_mod(op); });
    rewriter_.on([this](const For* op) -> Stmt {
      analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
      return rewriter_.children(op);
    });
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      if (auto* axis = op->node.as<IterVarNode>(); axis && op->attr_key == attr::kThreadExtent)
        analyzer_.bind(axis->var, make_range(make_zero(op->value.dtype()), op->value), true);
      return rewriter_.children(op);
    });
    rewriter_.on([this](const LetStmt* op) -> Stmt {
      if (op->value.dtype().is_int() && side_effect(op->value) == CallEffect::Pure)
        analyzer_.bind(op->var, op->value, true);
      return rewriter_.children(op);
    });
  }

  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  PrimExpr on_call(const Call* op) {
    auto* callee = op->op.as<OpNode>();
    if (!callee) return rewriter_.children(op);
    for (const std::string& slot : slots_) {
      if (!Op(callee).has(slot)) continue;
      PrimExpr lowered = Op(callee).slot(slot).to<PackedFunc>()(PrimExpr(op)).to<PrimExpr>();
      if (!lowered) continue;
      return lowered.same_as(PrimExpr(op)) ? PrimExpr(rewriter_.children(op)) : lower_again(lowered, callee);
    }
    return rewriter_.children(op);
  }

  /// The result of a rule may hold calls to be lowered in turn, but is not asked about the same operator again.
  PrimExpr lower_again(const PrimExpr& lowered, const OpNode* callee) {
    auto* call = lowered.as<Call>();
    if (call && call->op.get() == callee) return rewriter_.children(call);
    return rewriter_(lowered);
  }

  static int shift_of(const PrimExpr& divisor) {
    const int64_t* value = as_int(divisor);
    auto* broadcast = divisor.as<Broadcast>();
    if (!value && broadcast) value = as_int(broadcast->value);
    if (!value || *value < 1 || (*value & (*value - 1))) return -1;
    return __builtin_ctzll(static_cast<uint64_t>(*value));
  }

  bool is_non_negative(const PrimExpr& e) {
    if (e.dtype().is_uint()) return true;
    if (e.dtype().lanes == 1) return analyzer_.can_prove(e >= make_zero(e.dtype()));
    if (auto* op = e.as<Broadcast>()) return is_non_negative(op->value);
    if (auto* op = e.as<Ramp>()) return is_non_negative(op->base) && is_non_negative(op->stride);
    if (auto* op = e.as<BinaryNode>())
      return (e.as<Add>() || e.as<Mul>() || e.as<FloorDiv>() || e.as<FloorMod>() || e.as<Div>()) &&
             is_non_negative(op->a) && is_non_negative(op->b);
    return false;
  }

  PrimExpr on_floor_div(const FloorDiv* op) {
    PrimExpr a = rewriter_(op->a), b = rewriter_(op->b);
    DataType dtype = op->dtype;
    if (dtype.is_uint()) return make_binary<Div>(a, b);
    if (!dtype.is_int()) return unary_intrin("tir.floor", make_binary<Div>(a, b));
    if (int shift = shift_of(op->b); shift >= 0)
      return shift == 0 ? a : make_call(dtype, builtin::shift_right(), {a, make_const(dtype, shift)});
    bool positive_b = is_non_negative(op->b);
    if (positive_b && is_non_negative(op->a)) return make_binary<Div>(a, b);
    PrimExpr quotient = make_binary<Div>(a, b), rest = make_binary<Mod>(a, b), zero = make_zero(dtype);
    PrimExpr is_exact = positive_b ? rest >= zero : same_sign_or_zero(rest, b, zero);
    return make_select(is_exact, quotient, quotient - make_const(dtype, 1));
  }

  PrimExpr on_floor_mod(const FloorMod* op) {
    PrimExpr a = rewriter_(op->a), b = rewriter_(op->b);
    DataType dtype = op->dtype;
    if (dtype.is_uint()) return make_binary<Mod>(a, b);
    if (!dtype.is_int()) return a - b * unary_intrin("tir.floor", make_binary<Div>(a, b));
    if (int shift = shift_of(op->b); shift >= 0)
      return make_call(dtype, builtin::bitwise_and(), {a, make_const(dtype, (int64_t(1) << shift) - 1)});
    bool positive_b = is_non_negative(op->b);
    if (positive_b && is_non_negative(op->a)) return make_binary<Mod>(a, b);
    PrimExpr rest = make_binary<Mod>(a, b), zero = make_zero(dtype);
    PrimExpr is_exact = positive_b ? rest >= zero : same_sign_or_zero(rest, b, zero);
    return make_select(is_exact, rest, rest + b);
  }

  /// The remainder of a truncating division is that of the flooring one when it is zero or has the divisor's sign.
  static PrimExpr same_sign_or_zero(const PrimExpr& rest, const PrimExpr& b, const PrimExpr& zero) {
    return logical_or(logical_and(b >= zero, rest >= zero), logical_and(b < zero, rest <= zero));
  }

  std::vector<std::string> slots_;
  Rewriter rewriter_;
  arith::Analyzer analyzer_;
};

}  // namespace

PrimFunc lower_intrin(const PrimFunc& function) {
  Target target = require_target(function, "LowerIntrin");
  return with_body(function, IntrinLowerer(target)(function->body));
}

}  // namespace tessera
