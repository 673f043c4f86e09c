#include "arith/const_int_bound.h"

#include <bit>

#include "arith/kind.h"
#include "base/stack.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

/// The hull of f over the corners of two boxes: right for functions monotonic in each argument.
template <class F>
IntBound corners(IntBound a, IntBound b, F f) {
  IntBound out{kPosInf, kNegInf};
  for (int64_t x : {a.min, a.max})
    for (int64_t y : {b.min, b.max}) {
      int64_t v = f(x, y);
      out.min = std::min(out.min, v);
      out.max = std::max(out.max, v);
    }
  return out;
}

int64_t inf_div(int64_t a, int64_t b, bool floors) {
  if (is_inf(a)) return (a > 0) == (b > 0) ? kPosInf : kNegInf;
  if (is_inf(b)) return floors && a != 0 && (a > 0) != (b > 0) ? -1 : 0;
  return floors ? floor_div(a, b) : a / b;
}

/// Quotients, with zero left out of the divisors.
IntBound divide(IntBound a, IntBound b, bool floors) {
  auto f = [floors](int64_t x, int64_t y) { return inf_div(x, y, floors); };
  IntBound positive{std::max<int64_t>(b.min, 1), b.max}, negative{b.min, std::min<int64_t>(b.max, -1)};
  if (positive.is_empty() && negative.is_empty()) return {};
  if (positive.is_empty()) return corners(a, negative, f);
  if (negative.is_empty()) return corners(a, positive, f);
  return corners(a, positive, f) | corners(a, negative, f);
}

IntBound floor_remainder(IntBound a, IntBound b) {
  if (b.min >= 0) {
    int64_t top = sat_add(b.max, -1);
    if (a.min < 0) return {0, std::max<int64_t>(top, 0)};
    return a.max < b.min ? a : IntBound{0, std::max<int64_t>(std::min(a.max, top), 0)};
  }
  if (b.max <= 0) return {std::min<int64_t>(0, sat_add(b.min, 1)), 0};
  return {std::min<int64_t>(0, sat_add(b.min, 1)), std::max<int64_t>(0, sat_add(b.max, -1))};
}

IntBound trunc_remainder(IntBound a, IntBound b) {
  int64_t largest = std::max(b.max, sat_neg(b.min));  // of |b|
  int64_t top = std::max<int64_t>(sat_add(largest, -1), 0);
  if (a.min >= 0 && b.min > 0 && a.max < b.min) return a;
  return {a.min >= 0 ? 0 : std::max(a.min, sat_neg(top)), a.max <= 0 ? 0 : std::min(a.max, top)};
}

/// The least 2^k - 1 that is v or more, for v >= 0.
int64_t all_ones(int64_t v) {
  return is_inf(v) ? kPosInf : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v) + 1) - 1);
}

IntBound bit_and(IntBound a, IntBound b, DataType dtype) {
  if (a.min >= 0 && b.min >= 0) return {0, std::min(a.max, b.max)};
  if (a.min >= 0) return {0, a.max};
  if (b.min >= 0) return {0, b.max};
  return IntBound::of(dtype);
}

IntBound shift_left(IntBound a, IntBound b, DataType dtype) {
  IntBound all = IntBound::of(dtype);
  if (b.min < 0 || b.max > 62) return all;
  IntBound out = corners(a, b, [](int64_t x, int64_t y) { return sat_mul(x, int64_t{1} << y); });
  return out.within(all.min, all.max) ? out : all;
}

IntBound shift_right(IntBound a, IntBound b, DataType dtype) {
  if (b.min < 0 || b.max > 63) return IntBound::of(dtype);
  return corners(a, b, [](int64_t x, int64_t y) { return is_inf(x) ? x : x >> y; });
}

IntBound of_binary(Kind kind, IntBound a, IntBound b, DataType dtype) {
  switch (kind) {
    case Kind::Add: return {sat_add(a.min, b.min), sat_add(a.max, b.max)};
    case Kind::Sub: return {sat_sub(a.min, b.max), sat_sub(a.max, b.min)};
    case Kind::Mul: return corners(a, b, sat_mul);
    case Kind::Div: return divide(a, b, false);
    case Kind::FloorDiv: return divide(a, b, true);
    case Kind::Mod: return trunc_remainder(a, b) & IntBound::of(dtype);
    case Kind::FloorMod: return floor_remainder(a, b) & IntBound::of(dtype);
    case Kind::Min: return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case Kind::Max: return {std::max(a.min, b.min), std::max(a.max, b.max)};
    default: return {0, 1};
  }
}

}  // namespace

IntBound IntBound::of(DataType dtype) {
  if (!dtype.is_integral()) return {};
  if (dtype.bits >= 64) return {dtype.is_uint() ? 0 : kNegInf, kPosInf};
  if (dtype.is_uint()) return {0, (int64_t{1} << dtype.bits) - 1};
  return {-(int64_t{1} << (dtype.bits - 1)), (int64_t{1} << (dtype.bits - 1)) - 1};
}

IntBound BoundAnalyzer::visit(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (kind == Kind::IntImm) return IntBound::single(static_cast<const IntImm*>(e.get())->value);
  bool cached = kind != Kind::Var;
  if (cached)
    if (const IntBound* known = memo_.find(e)) return *known;
  IntBound out = on_enough_stack([&] { return of_node(e); });
  for (const auto& [known, bound] : facts_->bounds)
    if (expr_equal(known, e)) out = out & bound;
  if (out.is_empty()) out.max = out.min;  // contradictory facts: this point is never reached
  if (cached) memo_.insert(e, out);
  return out;
}

IntBound BoundAnalyzer::of_node(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (is_arithmetic(kind)) {
    const BinaryNode* node = as_binary(e);
    if (!node->dtype.is_integral()) return {};
    return of_binary(kind, visit(node->a), visit(node->b), node->dtype.element());
  }
  switch (kind) {
    case Kind::Var: {
      if (const Facts::OfVar* fact = facts_->find(static_cast<const VarNode*>(e.get()))) return fact->bound;
      return e.as<SizeVarNode>() ? IntBound{0, kPosInf} : IntBound::of(e.dtype());
    }
    case Kind::Select: {
      const auto* node = static_cast<const Select*>(e.get());
      return visit(node->true_value) | visit(node->false_value);
    }
    case Kind::Ramp: {
      const auto* node = static_cast<const Ramp*>(e.get());
      IntBound base = visit(node->base), stride = visit(node->stride);
      IntBound reach = of_binary(Kind::Mul, stride, IntBound::single(node->lanes - 1), e.dtype());
      return base | of_binary(Kind::Add, base, reach, e.dtype());
    }
    case Kind::Broadcast: return visit(static_cast<const Broadcast*>(e.get())->value);
    case Kind::Cast: {
      const PrimExpr& value = static_cast<const Cast*>(e.get())->value;
      IntBound all = IntBound::of(e.dtype());
      if (!value.dtype().is_integral()) return all;
      IntBound inner = visit(value);
      return inner.within(all.min, all.max) ? inner : all;
    }
    case Kind::Call: return of_call(e);
    default: return IntBound::of(e.dtype());
  }
}

IntBound BoundAnalyzer::of_call(const PrimExpr& e) {
  const auto* call = static_cast<const Call*>(e.get());
  DataType dtype = e.dtype().element();
  IntBound all = IntBound::of(dtype);
  const auto* op = call->op.as<OpNode>();
  if (!op || !dtype.is_integral() || call->args.empty()) return all;
  std::string_view name = op->name;
  if (name == "tir.if_then_else") return visit(call->args[1]) | visit(call->args[2]);
  if (name == "tir.likely") return visit(call->args[0]);
  if (name == "tir.clz") return {0, 64};
  if (call->args.size() != 2) return all;
  if (name.substr(0, 4) != "tir." || !call->args[0].dtype().is_integral()) return all;
  name.remove_prefix(4);
  if (name != "shift_left" && name != "shift_right" && name.substr(0, 7) != "bitwise") return all;
  IntBound a = visit(call->args[0]), b = visit(call->args[1]);
  if (name == "shift_left") return shift_left(a, b, dtype);
  if (name == "shift_right") return shift_right(a, b, dtype);
  if (name == "bitwise_and") return bit_and(a, b, dtype);
  if (a.min < 0 || b.min < 0) return all;
  if (name == "bitwise_or") return {std::max(a.min, b.min), all_ones(std::max(a.max, b.max))};
  if (name == "bitwise_xor") return {0, all_ones(std::max(a.max, b.max))};
  return all;
}

}  // namespace tessera::arith
