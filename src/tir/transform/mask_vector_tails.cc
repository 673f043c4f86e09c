// The guarded rest of a vector loop is done in one go, under a mask.
//
//   for i.s in range(8):                              if base < n:
//     if base + i.s < n: C[base + i.s] = A[base + i.s]   =>   mask = base + ramp < n
//                                                        masked_store(&C[base], masked_load(&A[base], mask, 0), mask)
//
// Needs a guard that, once false, stays false for the lanes that follow, and accesses of neighbouring elements;
// other loops stay as they are. Lanes whose mask is false touch no memory.

#include "ir/builtin.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/transform/pass.h"
#include "tir/transform/simplify.h"
#include "tir/transform/vectorize_loop.h"

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
  Masker(const For* loop, int lanes) : var_(loop->loop_var), lanes_(lanes) {}

  /// The masked form of `if condition: stores`, or an empty statement.
  Stmt operator()(const IfThenElse* guarded) {
    PrimExpr condition = without_likely(guarded->condition);
    if (!stays_false(condition)) return nullptr;
    mask_ = vector(condition);
    if (!mask_ || mask_.dtype().lanes != lanes_) return nullptr;
    Stmt body = without_lets(guarded->then_case);
    std::vector<Stmt> stores;
    if (auto* seq = body.as<SeqStmt>()) {
      for (const Stmt& part : seq->seq) stores.push_back(masked(part));
    } else {
      stores.push_back(masked(body));
    }
    for (const Stmt& store : stores)
      if (!store) return nullptr;
    PrimExpr first = substitute(condition, Map<Var, PrimExpr>{{var_, make_zero(var_->dtype)}});
    return make(IfThenElse{.condition = first, .then_case = sequence(stores)});
  }

 private:
  PrimExpr vector(const PrimExpr& e) { return vectorize_expr(e, var_, make_zero(var_->dtype), lanes_); }

  /// index < limit with an index that grows with the lane.
  bool stays_false(const PrimExpr& condition) {
    auto* pair = condition.as<BinaryNode>();
    if (!pair || !(condition.as<LT>() || condition.as<LE>()) || uses_var(pair->b, var_)) return false;
    PrimExpr index = vector(pair->a);
    auto* ramp = index ? index.as<Ramp>() : nullptr;
    const int64_t* stride = ramp ? as_int(ramp->stride) : nullptr;
    return stride && *stride > 0;
  }

  /// The address of the first lane of neighbouring elements; empty for other accesses.
  PrimExpr address(const Buffer& buffer, const PrimExpr& index) {
    auto* ramp = index ? index.as<Ramp>() : nullptr;
    if (!ramp || !is_one(ramp->stride) || buffer->dtype.lanes != 1) return nullptr;
    return make_call(DataType::Handle(), builtin::address_of(), {make_load(buffer, {ramp->base})});
  }

  Stmt masked(const Stmt& stmt) {
    auto* store = stmt.as<BufferStore>();
    if (!store || store->indices.size() != 1) return nullptr;
    PrimExpr where = address(store->buffer, vector(store->indices[0]));
    PrimExpr value = vector(store->value);
    if (!where || !value) return nullptr;
    if (value.dtype().lanes == 1) value = make_broadcast(value, lanes_);
    if (value.dtype().is_bool()) return nullptr;
    bool possible = true;
    value = rewrite(
        value,
        [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
          if (load->dtype.lanes == 1) return self.children(load);
          PrimExpr from = load->indices.size() == 1 ? address(load->buffer, load->indices[0]) : nullptr;
          if (!from || load->dtype.is_bool()) return possible = false, PrimExpr(load);
          return make_call(load->dtype, "tir.masked_load", {from, mask_, make_zero(load->dtype)});
        },
        [&](Rewriter& self, const Div* op) -> PrimExpr { return divided(self, op, &possible); },
        [&](Rewriter& self, const Mod* op) -> PrimExpr { return divided(self, op, &possible); },
        [&](Rewriter& self, const FloorDiv* op) -> PrimExpr { return divided(self, op, &possible); },
        [&](Rewriter& self, const FloorMod* op) -> PrimExpr { return divided(self, op, &possible); });
    if (!possible) return nullptr;
    return evaluate(make_call(DataType::Int(32), "tir.masked_store", {where, value, mask_}));
  }

  /// A division of integers that is not guarded might fault in a lane that is off.
  template <class T>
  static PrimExpr divided(Rewriter& self, const T* op, bool* possible) {
    if (op->dtype.is_integral() && !is_const(op->b)) *possible = false;
    return self.children(op);
  }

  Var var_;
  int lanes_;
  PrimExpr mask_;
};

Stmt mask_vector_tails(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const For* loop) -> Stmt {
    const int64_t* lanes = as_int(loop->extent);
    auto* guarded = loop->body.as<IfThenElse>();
    bool is_tail = loop->kind == LoopKind::Serial && is_lane_loop(loop->loop_var) && is_zero(loop->min) && lanes &&
                   *lanes > 1 && *lanes <= kMaxLanes && guarded && !guarded->else_case;
    Stmt masked = is_tail ? Masker(loop, static_cast<int>(*lanes))(guarded) : nullptr;
    return masked ? masked : Stmt(self.children(loop));
  });
}

static Globals globals{
    {"tir.transform.MaskVectorTails", [] { return body_pass("tir.MaskVectorTails", mask_vector_tails); }},
};

}  // namespace
}  // namespace tessera
