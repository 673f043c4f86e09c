// The guarded rest of a vector loop is done in one go, under a mask.
//
//   for i.s in range(8):                              if base < n:
//     if base + i.s < n: C[base + i.s] = A[base + i.s]   =>   mask = base + ramp < n
//                                                        masked_store(&C[base], masked_load(&A[base], mask, 0), mask)
//
// Needs accesses of neighbouring elements; other loops stay as they are. Lanes whose mask is false touch no memory.
// Values that are chosen lane by lane are loaded the same way:
//
//   for j.s in range(8): P[base + j.s] = exp(if_then_else(j + j.s < n, B[j + j.s], 0))
//     =>   mask = j + ramp < n;  P[base + ramp] = exp(select(mask, masked_load(&B[j], mask, 0), 0))

#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/loop/vectorize_loop.h"
#include "tir/transform/passes.h"
#include "tir/transform/simplify/simplify.h"

namespace tessera {
namespace {

constexpr int64_t kMaxLanes = 64;

const bool defined = [] {
  Op::define("tir.masked_load").set("TCallEffectKind", static_cast<int>(CallEffect::ReadState));
  Op::define("tir.masked_store").set("TCallEffectKind", static_cast<int>(CallEffect::UpdateState));
  return true;
}();

/// Lets of pure values put in, so that what is left is the stores.
Stmt without_lets(Stmt stmt) {
  while (auto* let = stmt.as<LetStmt>()) {
    if (side_effect(let->value) > CallEffect::Pure) return nullptr;
    stmt = substitute(let->body, Map<Var, PrimExpr>{{let->var, let->value}});
  }
  return stmt;
}

class Masker {
 public:
  Masker(const For* loop, int lanes, arith::Analyzer& known) : var_(loop->loop_var), lanes_(lanes), known_(known) {}

  /// What the loop's body does, for all lanes at once; empty where there is no such form.
  Stmt operator()(const Stmt& body) {
    Stmt out = statement(body, nullptr);
    return possible_ ? out : nullptr;
  }

 private:
  PrimExpr vector(const PrimExpr& e) {
    PrimExpr out = vectorize_expr(e, var_, make_zero(var_->dtype), lanes_);
    if (!out) possible_ = false;
    return out;
  }
  PrimExpr all_lanes(const PrimExpr& e) { return e.dtype().lanes == 1 ? make_broadcast(e, lanes_) : e; }

  /// `mask` is empty where every lane is on.
  Stmt statement(const Stmt& given, const PrimExpr& mask) {
    Stmt stmt = without_lets(given);
    if (auto* seq = stmt.as<SeqStmt>()) {
      std::vector<Stmt> parts;
      for (const Stmt& part : seq->seq) parts.push_back(statement(part, mask));
      return possible_ ? sequence(parts) : nullptr;
    }
    if (auto* guarded = stmt.as<IfThenElse>(); guarded && !guarded->else_case) return under(guarded, mask);
    if (auto* store = stmt.as<BufferStore>(); store && store->indices.size() == 1) return stored(store, mask);
    possible_ = false;
    return nullptr;
  }

  Stmt under(const IfThenElse* guarded, const PrimExpr& mask) {
    PrimExpr condition = without_likely(guarded->condition), lanes = loaded(vector(condition), mask);
    if (!possible_) return nullptr;
    if (lanes.dtype().lanes == 1) {
      Stmt body = statement(guarded->then_case, mask);
      return possible_ ? Stmt(make(IfThenElse{.condition = condition, .then_case = body})) : nullptr;
    }
    // A guard that stays false once it is false has nothing to do where the first lane is off.
    bool has_first = stays_false(condition), was = std::exchange(may_be_off_, may_be_off_ || !has_first);
    Stmt body = statement(guarded->then_case, both(mask, lanes));
    may_be_off_ = was;
    if (!possible_ || !has_first) return body;
    return make(IfThenElse{.condition = first_lane(condition), .then_case = body});
  }

  PrimExpr first_lane(const PrimExpr& condition) const {
    return substitute(without_likely(condition), Map<Var, PrimExpr>{{var_, make_zero(var_->dtype)}});
  }

  static PrimExpr both(const PrimExpr& mask, const PrimExpr& more) {
    return mask ? make_binary<And>(mask, more) : more;
  }

  /// index < limit with an index that grows with the lane.
  bool stays_false(const PrimExpr& condition) {
    auto* pair = condition.as<BinaryNode>();
    return pair && (condition.as<LT>() || condition.as<LE>()) && !uses_var(pair->b, var_) && grows(pair->a);
  }
  bool grows(const PrimExpr& index) {
    if (!uses_var(index, var_) || index.same_as(var_)) return true;
    if (auto* add = index.as<Add>()) return grows(add->a) && grows(add->b);
    auto* pair = index.as<BinaryNode>();
    const int64_t* factor = index.as<Mul>() || index.as<FloorDiv>() ? as_int(pair->b) : nullptr;
    return factor && *factor > 0 && grows(pair->a);
  }

  /// The address of the first lane of neighbouring elements; empty for other accesses.
  static PrimExpr address(const Buffer& buffer, const PrimExpr& index) {
    auto* ramp = index ? index.as<Ramp>() : nullptr;
    if (!ramp || !is_one(ramp->stride) || buffer->dtype.lanes != 1) return nullptr;
    return make_call(DataType::Handle(), builtin::address_of(), {make_load(buffer, {ramp->base})});
  }

  Stmt stored(const BufferStore* store, const PrimExpr& mask) {
    find_choices(store->value);
    PrimExpr index = loaded(vector(store->indices[0]), mask), value = chosen(store->value, mask);
    PrimExpr where = address(store->buffer, index);
    if (!possible_ || !where || value.dtype().is_bool()) return possible_ = false, nullptr;
    value = all_lanes(value);
    if (!mask) return make(BufferStore{.buffer = store->buffer, .value = value, .indices = {index}});
    return evaluate(make_call(DataType::Int(32), "tir.masked_store", {where, value, mask}));
  }

  /// A value, or choices between values in it: each reads memory only in the lanes that take it.
  PrimExpr chosen(const PrimExpr& value, const PrimExpr& mask) {
    if (!has_choice(value)) return loaded(vector(value), mask);
    auto* choice = value.as<Call>();
    if (!choice || !builtin::is(choice, builtin::if_then_else())) return computed(value, mask);
    PrimExpr condition = loaded(vector(without_likely(choice->args[0])), mask);
    if (!possible_) return nullptr;
    if (condition.dtype().lanes == 1) {
      PrimExpr yes = chosen(choice->args[1], mask), no = chosen(choice->args[2], mask);
      if (!possible_) return nullptr;
      return make_call(choice->dtype.with_lanes(lanes_), choice->op, {condition, all_lanes(yes), all_lanes(no)});
    }
    bool has_first = stays_false(without_likely(choice->args[0])) && known_.can_prove(first_lane(choice->args[0]));
    bool was = std::exchange(may_be_off_, may_be_off_ || !has_first);
    PrimExpr yes = chosen(choice->args[1], both(mask, condition));
    may_be_off_ = true;
    PrimExpr no = chosen(choice->args[2], both(mask, make_not(condition)));
    may_be_off_ = was;
    return possible_ ? make_select(condition, all_lanes(yes), all_lanes(no)) : nullptr;
  }

  /// Notes which parts of a value have choices in them.
  void find_choices(const PrimExpr& value) {
    walk(
        value,
        [&](const BinaryNode* op) {
          if (has_choice(op->a) || has_choice(op->b)) with_choices_.insert(op);
        },
        [&](const Call* call) {
          bool found = builtin::is(call, builtin::if_then_else());
          for (const PrimExpr& arg : call->args) found |= has_choice(arg);
          if (found) with_choices_.insert(call);
        });
  }
  bool has_choice(const PrimExpr& value) const { return with_choices_.count(value.get()) > 0; }

  /// Arithmetic, or a function of elements, on values with choices in them.
  PrimExpr computed(const PrimExpr& value, const PrimExpr& mask) {
    if (auto* op = value.as<BinaryNode>(); op && op->dtype.is_float()) {
      PrimExpr a = chosen(op->a, mask), b = chosen(op->b, mask);
      if (!possible_) return nullptr;
      a = all_lanes(a), b = all_lanes(b);
      if (value.as<Add>()) return make_binary<Add>(a, b);
      if (value.as<Sub>()) return make_binary<Sub>(a, b);
      if (value.as<Mul>()) return make_binary<Mul>(a, b);
      if (value.as<Div>()) return make_binary<Div>(a, b);
      if (value.as<Max>()) return make_binary<Max>(a, b);
      if (value.as<Min>()) return make_binary<Min>(a, b);
    }
    if (auto* call = value.as<Call>(); call && is_lane_by_lane(call) && !is_call(call, "tir.checked_index")) {
      Array<PrimExpr> args;
      for (const PrimExpr& arg : call->args) args.push_back(chosen(arg, mask));
      if (!possible_) return nullptr;
      for (size_t i = 0; i < args.size(); ++i) args.set(i, all_lanes(args[i]));
      return make_call(call->dtype.with_lanes(lanes_), call->op, args);
    }
    return possible_ = false, nullptr;
  }

  PrimExpr loaded(const PrimExpr& value, const PrimExpr& mask) {
    if (!possible_ || !mask) return value;
    return rewrite(
        value,
        [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
          if (load->dtype.lanes == 1) {  // read for all lanes, so one of them has to be on
            possible_ = possible_ && !may_be_off_;
            return self.children(load);
          }
          PrimExpr from = load->indices.size() == 1 ? address(load->buffer, load->indices[0]) : nullptr;
          if (!from || load->dtype.is_bool()) return possible_ = false, PrimExpr(load);
          return make_call(load->dtype, "tir.masked_load", {from, mask, make_zero(load->dtype)});
        },
        [&](Rewriter& self, const Div* op) -> PrimExpr { return divided(self, op); },
        [&](Rewriter& self, const Mod* op) -> PrimExpr { return divided(self, op); },
        [&](Rewriter& self, const FloorDiv* op) -> PrimExpr { return divided(self, op); },
        [&](Rewriter& self, const FloorMod* op) -> PrimExpr { return divided(self, op); });
  }

  /// A division of integers that is not guarded might fault in a lane that is off.
  template <class T>
  PrimExpr divided(Rewriter& self, const T* op) {
    if (op->dtype.is_integral() && !is_const(op->b)) possible_ = false;
    return self.children(op);
  }

  Var var_;
  int lanes_;
  arith::Analyzer& known_;  // the loops around
  std::unordered_set<const Object*> with_choices_;
  bool possible_ = true;
  bool may_be_off_ = false;  // every lane of the mask, that is
};

}  // namespace

Stmt mask_vector_tails(const Stmt& body) {
  arith::Analyzer known;
  return rewrite(body, [&known](Rewriter& self, const For* loop) -> Stmt {
    known.bind(loop->loop_var, make_range(loop->min, loop->extent), true);
    const int64_t* lanes = as_int(loop->extent);
    bool is_vector = loop->kind == LoopKind::Serial && is_lane_loop(loop->loop_var) && is_zero(loop->min) && lanes &&
                     *lanes > 1 && *lanes <= kMaxLanes;
    Stmt masked = is_vector ? Masker(loop, static_cast<int>(*lanes), known)(loop->body) : nullptr;
    return masked ? masked : Stmt(self.children(loop));
  });
}

}  // namespace tessera
