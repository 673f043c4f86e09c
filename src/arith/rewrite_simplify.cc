#include "arith/rewrite_simplify.h"

#include "arith/core.h"
#include "arith/kind.h"
#include "arith/node_simplifiers.h"
#include "base/stack.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

constexpr int kMaxDepth = 24;  // of rules on results of rules; no chain of sensible rules is that long

PrimExpr fold(Kind kind, const PrimExpr& a, const PrimExpr& b) {
  switch (kind) {
    case Kind::Add: return try_fold<Add>(a, b);
    case Kind::Sub: return try_fold<Sub>(a, b);
    case Kind::Mul: return try_fold<Mul>(a, b);
    case Kind::Div: return try_fold<Div>(a, b);
    case Kind::Mod: return try_fold<Mod>(a, b);
    case Kind::FloorDiv: return try_fold<FloorDiv>(a, b);
    case Kind::FloorMod: return try_fold<FloorMod>(a, b);
    case Kind::Min: return try_fold<Min>(a, b);
    case Kind::Max: return try_fold<Max>(a, b);
    case Kind::EQ: return try_fold<EQ>(a, b);
    case Kind::NE: return try_fold<NE>(a, b);
    case Kind::LT: return try_fold<LT>(a, b);
    case Kind::LE: return try_fold<LE>(a, b);
    case Kind::GT: return try_fold<GT>(a, b);
    case Kind::GE: return try_fold<GE>(a, b);
    case Kind::And: return try_fold<And>(a, b);
    case Kind::Or: return try_fold<Or>(a, b);
    default: return nullptr;
  }
}

/// True when evaluating `e` may read memory, call something with effects or divide by zero.
bool may_fault(const PrimExpr& e) {
  if (side_effect(e) > CallEffect::Pure) return true;
  bool divides = false;
  pre_order(e, [&](const Object* node) {
    auto* part = cast_or_null<PrimExprNode>(node);
    if (divides || !part || !(part->dtype.is_int() || part->dtype.is_uint())) return !divides;
    Kind kind = kind_of(PrimExpr(part));
    bool is_division = kind == Kind::Div || kind == Kind::Mod || kind == Kind::FloorDiv || kind == Kind::FloorMod;
    divides = is_division && !is_const(as_binary(PrimExpr(part))->b);
    return !divides;
  });
  return divides;
}

/// A vector against the same constant in each lane: what adds nothing goes, what decides alone stays. Empty otherwise.
PrimExpr with_constant_lanes(Kind kind, const PrimExpr& a, const PrimExpr& b) {
  auto lane = [](const PrimExpr& e) {
    const auto* node = e.as<Broadcast>();
    return node && is_const(node->value) ? node->value : PrimExpr();
  };
  PrimExpr left = lane(a), right = lane(b);
  auto number = [](const PrimExpr& e, int value) {
    const auto* real = e.as<FloatImm>();
    return real ? real->value == value : is_const_int(e, value);
  };
  auto zero = [&](const PrimExpr& e) { return e.defined() && number(e, 0); };
  auto one = [&](const PrimExpr& e) { return e.defined() && number(e, 1); };
  switch (kind) {
    case Kind::Add: return zero(right) ? a : zero(left) ? b : PrimExpr();
    case Kind::Sub: return zero(right) ? a : PrimExpr();
    case Kind::Mul:
      if (zero(right) || one(left)) return b;
      return zero(left) || one(right) ? a : PrimExpr();
    case Kind::And:
      if (zero(right) || one(left)) return b;
      return zero(left) || one(right) ? a : PrimExpr();
    case Kind::Or:
      if (one(right) || zero(left)) return b;
      return one(left) || zero(right) ? a : PrimExpr();
    case Kind::Div:
    case Kind::Mod:
    case Kind::FloorDiv:
    case Kind::FloorMod:
      if (!a.dtype().is_floating() && zero(right))
        throw Error(RuntimeError) << "Divide by zero in " << bare_node(kind, a, b);
      return one(right) && (kind == Kind::Div || kind == Kind::FloorDiv) ? a : PrimExpr();
    default: return nullptr;
  }
}

}  // namespace

PrimExpr RewriteSimplifier::visit(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (kind == Kind::IntImm) return e;
  if (kind == Kind::Var) {
    const Facts::OfVar* fact = core_->facts.find(static_cast<const VarNode*>(e.get()));
    if (fact && fact->value.defined()) return fact->value;
    return e.dtype().is_bool() ? by_known_conditions(e) : e;
  }
  if (const PrimExpr* known = memo_.find(e)) return *known;
  PrimExpr out = on_enough_stack([&] { return compute(e); });
  if (out.dtype().is_bool()) out = by_known_conditions(out);
  memo_.insert(e, out);
  if (!out.same_as(e)) memo_.insert(out, out);
  return out;
}

PrimExpr RewriteSimplifier::again(const PrimExpr& e) {
  if (depth_ >= kMaxDepth) return e;
  Deeper deeper(&depth_);
  return visit(e);
}

IntBound RewriteSimplifier::bound_of(const PrimExpr& e) { return core_->bounds(e); }
Modular RewriteSimplifier::modular_of(const PrimExpr& e) { return core_->modulars(e); }

PrimExpr RewriteSimplifier::compute(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (is_binary(kind)) return combine(kind, visit(as_binary(e)->a), visit(as_binary(e)->b), e);
  switch (kind) {
    case Kind::Not: {
      PrimExpr a = visit(static_cast<const Not*>(e.get())->a);
      PrimExpr node = a.same_as(static_cast<const Not*>(e.get())->a) && !is_truth(a) ? e : not_node(a);
      if (kind_of(node) != Kind::Not) return node;
      const RuleSet& rules = e.dtype().lanes == 1 ? scalar_rules() : vector_rules();
      PrimExpr out = rules.apply(node, *this);
      return out.defined() ? again(out) : node;
    }
    case Kind::Select: return on_select(e);
    case Kind::Call: return on_call(e);
    case Kind::Let: return on_let(e);
    case Kind::Cast: {
      const auto* node = static_cast<const Cast*>(e.get());
      PrimExpr value = visit(node->value);
      if (value.dtype() == e.dtype()) return value;
      if (is_const(value)) return cast(e.dtype(), value);
      if (value.same_as(node->value)) return e;
      return with(node, &Cast::value, value);
    }
    case Kind::Ramp: {
      const auto* node = static_cast<const Ramp*>(e.get());
      PrimExpr base = visit(node->base), stride = visit(node->stride);
      if (base.same_as(node->base) && stride.same_as(node->stride)) return e;
      return make_ramp(base, stride, node->lanes);
    }
    default:
      for (const NodeSimplifier& row : node_simplifiers())
        if (e->is_a(*row.type))
          return row.simplify(
              e, [this](const PrimExpr& condition, const PrimExpr& part) { return under(condition, part); });
      return on_children(e);
  }
}

PrimExpr RewriteSimplifier::combine(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original) {
  DataType dtype = a.dtype();
  bool logic = kind == Kind::And || kind == Kind::Or;
  if (dtype.lanes == 1 && (is_index_type(dtype) || (logic && dtype.is_bool())))
    return combine_index(kind, a, b, original);
  PrimExpr folded = fold(kind, a, b);
  if (folded.defined()) return folded;
  // Rules know == and <; the others are their mirror images and negations.
  if (kind == Kind::GT || kind == Kind::GE) return combine(kind == Kind::GT ? Kind::LT : Kind::LE, b, a, original);
  if (dtype.lanes > 1) {
    if (PrimExpr out = with_constant_lanes(kind, a, b)) return out;
  }
  PrimExpr node = rebuild(kind, a, b, original);
  if (dtype.lanes > 1) {
    PrimExpr out = vector_rules().apply(node, *this);
    if (out.defined()) return again(out);
  }
  return node;
}

PrimExpr RewriteSimplifier::combine_index(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original) {
  if (is_comparison(kind)) return comparison(kind, a, b, original);
  PrimExpr folded = make_node(kind, a, b);
  if (kind_of(folded) != kind) return folded;
  PrimExpr node = rebuild(kind, a, b, original);
  if (kind == Kind::Min || kind == Kind::Max) {
    IntBound of_a = bound_of(a), of_b = bound_of(b);
    bool is_min = kind == Kind::Min;
    if (of_a.max <= of_b.min && !is_inf(of_a.max)) return is_min ? a : b;
    if (of_b.max <= of_a.min && !is_inf(of_b.max)) return is_min ? b : a;
  }
  PrimExpr out = scalar_rules().apply(node, *this);
  if (out.defined()) return again(out);
  switch (kind) {
    case Kind::Min:
    case Kind::Max: {
      Order order = compare(a, b);
      bool first = order == Order::Less || order == Order::LessEqual || order == Order::Equal;
      bool second = order == Order::Greater || order == Order::GreaterEqual;
      if (first || second) return (kind == Kind::Min) == first ? a : b;
      return node;
    }
    case Kind::Div:
    case Kind::Mod:
    case Kind::FloorDiv:
    case Kind::FloorMod: {
      IntBound bound = bound_of(node);
      if (bound.is_single() && fits(node.dtype(), bound.min)) return int_imm(node.dtype(), bound.min);
      const int64_t* divisor = as_int(b);
      bool is_remainder = kind == Kind::FloorMod || (kind == Kind::Mod && bound_of(a).min >= 0);
      if (Modular m = modular_of(a); is_remainder && divisor && *divisor > 0 && m.coeff % *divisor == 0)
        return int_imm(node.dtype(), floor_mod(m.base, *divisor));
      if (kind == Kind::FloorMod && bound_of(a).min >= 0 && proves(make_node(Kind::LT, a, b))) return a;
      if (kind == Kind::FloorDiv && bound_of(a).min >= 0 && proves(make_node(Kind::LT, a, b)))
        return make_zero(node.dtype());
      return node;
    }
    default: return node;
  }
}

PrimExpr RewriteSimplifier::under(const PrimExpr& condition, const PrimExpr& e) {
  Core::Mark mark = core_->enter(condition);
  PrimExpr out = visit(e);
  core_->leave(std::move(mark));
  return out;
}

PrimExpr RewriteSimplifier::on_select(const PrimExpr& e) {
  const auto* node = static_cast<const Select*>(e.get());
  PrimExpr condition = visit(node->condition);
  bool scalar = condition.dtype().lanes == 1;
  if (is_truth(condition))
    return visit(static_cast<const IntImm*>(condition.get())->value ? node->true_value : node->false_value);
  // A Select may evaluate the value that it does not choose: an index or divisor in it stays what it is without the condition.
  auto chosen = [&](const PrimExpr& value, bool side) {
    if (!scalar || may_fault(value)) return visit(value);
    return under(side ? condition : visit(not_node(condition)), value);
  };
  PrimExpr t = chosen(node->true_value, true), f = chosen(node->false_value, false);
  bool same = condition.same_as(node->condition) && t.same_as(node->true_value) && f.same_as(node->false_value);
  PrimExpr made = same ? e : select_node(condition, t, f);
  if (kind_of(made) != Kind::Select) return made;
  PrimExpr out = (scalar ? scalar_rules() : vector_rules()).apply(made, *this);
  return out.defined() ? again(out) : made;
}

PrimExpr RewriteSimplifier::on_call(const PrimExpr& e) {
  const auto* node = static_cast<const Call*>(e.get());
  if (is_call(node, "tir.if_then_else") && node->args.size() == 3) {
    PrimExpr condition = visit(node->args[0]);
    if (is_truth(condition))
      return visit(static_cast<const IntImm*>(condition.get())->value ? node->args[1] : node->args[2]);
    PrimExpr t = under(condition, node->args[1]), f = under(visit(not_node(condition)), node->args[2]);
    if (expr_equal(t, f) && side_effect(condition) <= CallEffect::Pure) return t;
    // p ? (q ? x : y) : y   =>   p && q ? x : y
    if (const auto* inner = t.as<Call>();
        is_call(t, "tir.if_then_else") && expr_equal(inner->args[2], f) && !may_fault(inner->args[0]))
      return visit(
          with(node, &Call::args, Array<PrimExpr>{bare_node(Kind::And, condition, inner->args[0]), inner->args[1], f}));
    if (condition.same_as(node->args[0]) && t.same_as(node->args[1]) && f.same_as(node->args[2])) return e;
    return with(node, &Call::args, Array<PrimExpr>{condition, t, f});
  }
  PrimExpr out = on_children(e);
  const auto* call = out.as<Call>();
  if (call->args.empty()) return out;
  if (is_call(call, "tir.likely")) return is_truth(call->args[0]) ? call->args[0] : out;
  bool constants = call->args.size() == 2 && as_int(call->args[0]) && as_int(call->args[1]);
  if (!constants || e.dtype().lanes != 1) return out;
  PrimExpr a = call->args[0], b = call->args[1];
  if (is_call(call, "tir.bitwise_and")) return a & b;
  if (is_call(call, "tir.bitwise_or")) return a | b;
  if (is_call(call, "tir.bitwise_xor")) return a ^ b;
  bool shifts = is_index_type(e.dtype()) && *as_int(a) >= 0 && *as_int(b) >= 0 && *as_int(b) < 31;
  if (shifts && is_call(call, "tir.shift_right")) return a >> b;
  if (shifts && is_call(call, "tir.shift_left") && *as_int(a) < (int64_t{1} << 31 >> *as_int(b))) return a << b;
  return out;
}

PrimExpr RewriteSimplifier::on_let(const PrimExpr& e) {
  const auto* node = static_cast<const Let*>(e.get());
  PrimExpr value = visit(node->value);
  if (is_const(value) || kind_of(value) == Kind::Var)
    return visit(substitute(node->body, Map<Var, PrimExpr>{{node->var, value}}));
  PrimExpr body = visit(node->body);
  if (value.same_as(node->value) && body.same_as(node->body)) return e;
  Let copy(*node);
  copy.value = value;
  copy.body = body;
  return make(std::move(copy));
}

PrimExpr RewriteSimplifier::on_children(const PrimExpr& e) {
  Rewriter children([this](Rewriter&, const PrimExprNode* kid) -> PrimExpr { return visit(PrimExpr(kid)); });
  children.share_results(false);
  return children.children(e.get());
}

std::vector<NodeSimplifier>& node_simplifiers() {
  static std::vector<NodeSimplifier> rows;
  return rows;
}

}  // namespace tessera::arith
