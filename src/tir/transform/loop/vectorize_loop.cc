// Loops marked vectorized become vector operations.
//
//   for i in vectorized(8): B[i*2 + 8] = A[i] + 2     =>     B[ramp(8, 2, 8)] = A[ramp(0, 1, 8)] + broadcast(2, 8)
//
// A statement that has no vector form (a condition or a loop that differs between lanes, a call that is not
// lane by lane) is done lane by lane in a serial loop named <var>.s around just that statement. Memory allocated
// inside the loop gets a lane each.

#include "tir/transform/loop/vectorize_loop.h"

#include <algorithm>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

int lanes_of(const PrimExpr& e) { return e.dtype().lanes; }

PrimExpr broadcast_to(const PrimExpr& e, int lanes) {
  if (lanes_of(e) == lanes) return e;
  if (auto* op = e.as<Broadcast>(); op && lanes % op->lanes == 0) return make_broadcast(op->value, lanes);
  ICHECK(lanes_of(e) == 1) << "cannot make " << lanes << " lanes from " << lanes_of(e);
  return make_broadcast(e, lanes);
}

/// Access to memory that has become one copy per lane: the number of the lane is the innermost dimension.
Stmt give_lanes(const Stmt& body, const Var& memory, const PrimExpr& lane, int lanes) {
  auto widen = [&](const Buffer& buffer, Array<PrimExpr> indices) {
    BufferNode wide(*buffer.get());
    size_t last = wide.shape.size() - 1;
    PrimExpr count = make_const(indices.back().dtype(), lanes);
    wide.shape.set(last, wide.shape[last] * count);
    indices.set(last, indices[last] * count + cast(indices[last].dtype(), lane));
    return std::make_pair(Buffer(make(std::move(wide))), indices);
  };
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    Ref<BufferLoad> inner = self.children(load);
    if (!load->buffer->data.same_as(memory)) return inner;
    auto [buffer, indices] = widen(inner->buffer, inner->indices);
    return make_load(buffer, indices);
  });
  rewriter.on([&](Rewriter& self, const BufferStore* store) -> Stmt {
    Ref<BufferStore> inner = self.children(store);
    if (!store->buffer->data.same_as(memory)) return inner;
    auto [buffer, indices] = widen(inner->buffer, inner->indices);
    return make(BufferStore{.buffer = buffer, .value = inner->value, .indices = indices});
  });
  return rewriter(body);
}

Stmt vectorized(const Stmt& body);

class Vectorizer {
 public:
  Vectorizer(Var var, PrimExpr min, int lanes)
      : var_(std::move(var)), lanes_(lanes), ramp_(make_ramp(min, make_const(min.dtype(), 1), lanes)), min_(min) {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const VarNode* v) -> PrimExpr { return on_var(v); });
    add_binary<Add>(), add_binary<Sub>(), add_binary<Mul>(), add_binary<Div>(), add_binary<Mod>();
    add_binary<FloorDiv>(), add_binary<FloorMod>(), add_binary<Min>(), add_binary<Max>();
    add_binary<EQ>(), add_binary<NE>(), add_binary<LT>(), add_binary<LE>(), add_binary<GT>(), add_binary<GE>();
    add_binary<And>(), add_binary<Or>();
    on.on([this](const Not* op) -> PrimExpr { return make_not(rewriter_(op->a)); });
    on.on([this](const Cast* op) -> PrimExpr { return on_cast(op); });
    on.on([this](const Select* op) -> PrimExpr { return on_select(op); });
    on.on([this](const Ramp* op) -> PrimExpr { return on_nested_vector(op, op->base); });
    on.on([this](const Broadcast* op) -> PrimExpr { return on_nested_vector(op, op->value); });
    on.on([this](const Call* op) -> PrimExpr { return on_call(op); });
    on.on([this](const Let* op) -> PrimExpr { return on_let(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr { return on_load(op); });
    on.on([this](const BufferStore* op) -> Stmt { return on_store(op); });
    on.on([this](const LetStmt* op) -> Stmt { return on_let_stmt(op); });
    on.on([this](const For* op) -> Stmt { return on_loop(op); });
    on.on([this](const While* op) -> Stmt { return lane_by_lane(Stmt(op)); });
    on.on([this](const IfThenElse* op) -> Stmt { return on_if(op); });
    on.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
    on.on([this](const AttrStmt* op) -> Stmt { return on_scope(op, op->value); });
    on.on([this](const AssertStmt* op) -> Stmt { return on_scope(op, op->condition); });
    on.on([this](const Evaluate* op) -> Stmt { return on_evaluate(op); });
  }

  Stmt operator()(const Stmt& body) { return rewriter_(body); }
  PrimExpr expr(const PrimExpr& e) {
    PrimExpr out = rewriter_(e);
    return take_needs_lanes() ? PrimExpr() : out;
  }

 private:
  PrimExpr on_var(const VarNode* v) {
    if (v == var_.get()) return ramp_;
    auto it = lets_.find(v);
    return it == lets_.end() ? PrimExpr(v) : it->second;
  }

  /// scalar + ramp and scalar * ramp stay ramps, so that memory is accessed with a stride.
  template <class T>
  PrimExpr as_ramp(const PrimExpr& a, const PrimExpr& b) {
    if (a.dtype().is_bool() || b.dtype().is_bool()) return nullptr;
    auto *ramp_a = a.as<Ramp>(), *ramp_b = b.as<Ramp>();
    if constexpr (std::is_same_v<T, Add>) {
      if (ramp_a && lanes_of(b) == 1) return make_ramp(ramp_a->base + b, ramp_a->stride, ramp_a->lanes);
      if (ramp_b && lanes_of(a) == 1) return make_ramp(a + ramp_b->base, ramp_b->stride, ramp_b->lanes);
    } else if constexpr (std::is_same_v<T, Sub>) {
      if (ramp_a && lanes_of(b) == 1) return make_ramp(ramp_a->base - b, ramp_a->stride, ramp_a->lanes);
      if (ramp_b && lanes_of(a) == 1)
        return make_ramp(a - ramp_b->base, make_zero(ramp_b->stride.dtype()) - ramp_b->stride, ramp_b->lanes);
    } else if constexpr (std::is_same_v<T, Mul>) {
      if (ramp_a && lanes_of(b) == 1) return make_ramp(ramp_a->base * b, ramp_a->stride * b, ramp_a->lanes);
      if (ramp_b && lanes_of(a) == 1) return make_ramp(a * ramp_b->base, a * ramp_b->stride, ramp_b->lanes);
    }
    return nullptr;
  }

  template <class T>
  void add_binary() {
    rewriter_.on([this](const T* op) -> PrimExpr {
      PrimExpr a = rewriter_(op->a), b = rewriter_(op->b);
      if (a.same_as(op->a) && b.same_as(op->b)) return PrimExpr(op);
      int lanes = std::max(lanes_of(a), lanes_of(b));
      if (lanes > 1)
        if (PrimExpr ramp = as_ramp<T>(a, b)) return ramp;
      return make_binary<T>(broadcast_to(a, lanes), broadcast_to(b, lanes));
    });
  }

  PrimExpr on_cast(const Cast* op) {
    PrimExpr value = rewriter_(op->value);
    if (value.same_as(op->value)) return PrimExpr(op);
    // A ramp whose integers get wider stays one: sums of indices do not overflow.
    if (auto* ramp = value.as<Ramp>(); ramp && op->dtype.is_int() && value.dtype().is_int() &&
                                       op->dtype.bits >= value.dtype().bits && ramp->base.dtype().lanes == 1)
      return make_ramp(cast(op->dtype, ramp->base), cast(op->dtype, ramp->stride), ramp->lanes);
    return make_cast(op->dtype.with_lanes(lanes_of(value)), value);
  }

  PrimExpr on_select(const Select* op) {
    PrimExpr c = rewriter_(op->condition), t = rewriter_(op->true_value), f = rewriter_(op->false_value);
    int lanes = std::max({lanes_of(c), lanes_of(t), lanes_of(f)});
    return make_select(broadcast_to(c, lanes), broadcast_to(t, lanes), broadcast_to(f, lanes));
  }

  template <class T>
  PrimExpr on_nested_vector(const T* op, const PrimExpr& scalar) {
    if (lanes_of(rewriter_(scalar)) > 1) needs_lanes_ = true;  // a vector of vectors
    return PrimExpr(op);
  }

  PrimExpr on_call(const Call* op) {
    if (builtin::is(op, builtin::if_then_else())) return on_if_then_else(op);
    Array<PrimExpr> args = rewriter_(op->args);
    int lanes = 1;
    for (const PrimExpr& arg : args) lanes = std::max(lanes, lanes_of(arg));
    if (lanes == 1 || args.same_as(op->args))
      return args.same_as(op->args) ? PrimExpr(op) : make_call(op->dtype, op->op, args);
    if (!is_lane_by_lane(op)) {
      needs_lanes_ = true;
      return PrimExpr(op);
    }
    for (size_t i = 0; i < args.size(); ++i)
      if (!args[i].as<StringImm>()) args.set(i, broadcast_to(args[i], lanes));
    return make_call(op->dtype.with_lanes(lanes), op->op, args);
  }

  PrimExpr on_if_then_else(const Call* op) {
    PrimExpr condition = rewriter_(op->args[0]);
    if (lanes_of(condition) > 1) {
      needs_lanes_ = true;
      return PrimExpr(op);
    }
    PrimExpr t = rewriter_(op->args[1]), f = rewriter_(op->args[2]);
    int lanes = std::max(lanes_of(t), lanes_of(f));
    t = broadcast_to(t, lanes), f = broadcast_to(f, lanes);
    return make_call(op->dtype.with_lanes(lanes), op->op, {condition, t, f});
  }

  /// The variable to use where `value` stands for the variable's old value.
  Var vector_var(const Var& var, const PrimExpr& value) {
    if (lanes_of(value) == lanes_of(var)) return var;
    Var wide = make_var(var->name, value.dtype());
    lets_[var.get()] = wide;
    return wide;
  }

  PrimExpr on_let(const Let* op) {
    PrimExpr value = rewriter_(op->value);
    Var var = vector_var(op->var, value);
    return make_let(var, value, rewriter_(op->body));
  }

  PrimExpr on_load(const BufferLoad* op) {
    Array<PrimExpr> indices = rewriter_(op->indices);
    return indices.same_as(op->indices) ? PrimExpr(op) : make_load(op->buffer, indices);
  }

  Stmt on_store(const BufferStore* op) {
    Array<PrimExpr> indices = rewriter_(op->indices);
    PrimExpr value = rewriter_(op->value);
    if (take_needs_lanes()) return lane_by_lane(Stmt(op));
    if (indices.same_as(op->indices) && value.same_as(op->value)) return Stmt(op);
    int element = op->buffer->dtype.lanes;
    int index_lanes = indices.empty() ? 1 : lanes_of(indices.back());
    for (size_t i = 0; i + 1 < indices.size(); ++i)
      if (lanes_of(indices[i]) > 1) return lane_by_lane(Stmt(op));  // only the last dimension may be a vector
    int lanes = std::max(index_lanes * element, lanes_of(value));
    if (!indices.empty() && index_lanes * element != lanes)
      indices.set(indices.size() - 1, broadcast_to(indices.back(), lanes / element));
    return make(BufferStore{.buffer = op->buffer, .value = broadcast_to(value, lanes), .indices = indices});
  }

  Stmt on_let_stmt(const LetStmt* op) {
    PrimExpr value = rewriter_(op->value);
    if (take_needs_lanes()) return lane_by_lane(Stmt(op));
    Var var = vector_var(op->var, value);
    return make(LetStmt{.var = var, .value = value, .body = rewriter_(op->body)});
  }

  Stmt on_loop(const For* op) {
    PrimExpr min = rewriter_(op->min), extent = rewriter_(op->extent);
    if (take_needs_lanes() || lanes_of(min) > 1 || lanes_of(extent) > 1) return lane_by_lane(Stmt(op));
    For out(*op);
    if (out.kind == LoopKind::Vectorized) out.kind = LoopKind::Serial;  // one vector dimension at a time
    out.min = min;
    out.extent = extent;
    out.body = rewriter_(op->body);
    return make(std::move(out));
  }

  Stmt on_if(const IfThenElse* op) {
    PrimExpr condition = rewriter_(op->condition);
    if (take_needs_lanes() || lanes_of(condition) > 1) return lane_by_lane(Stmt(op));
    return make(IfThenElse{
        .condition = condition, .then_case = rewriter_(op->then_case), .else_case = rewriter_(op->else_case)});
  }

  Stmt on_allocate(const Allocate* op) {
    Allocate out(*op);
    PrimExpr condition = rewriter_(op->condition);
    Array<PrimExpr> extents = rewriter_(op->extents);
    bool differs = take_needs_lanes() || lanes_of(condition) > 1;
    for (const PrimExpr& extent : extents) differs = differs || lanes_of(extent) > 1;
    if (differs) return lane_by_lane(Stmt(op));
    size_t last = extents.size() - 1;
    extents.set(last, extents[last] * make_const(extents[last].dtype(), lanes_));
    out.condition = condition;
    out.extents = extents;
    out.body = rewriter_(give_lanes(op->body, op->buffer_var, var_ - min_, lanes_));
    return make(std::move(out));
  }

  template <class T>
  Stmt on_scope(const T* op, const PrimExpr& value) {
    PrimExpr changed = rewriter_(value);
    if (take_needs_lanes() || lanes_of(changed) > 1) return lane_by_lane(Stmt(op));
    return with(op, &T::body, rewriter_(op->body));
  }

  Stmt on_evaluate(const Evaluate* op) {
    PrimExpr value = rewriter_(op->value);
    if (take_needs_lanes()) return lane_by_lane(Stmt(op));
    return with(op, &Evaluate::value, value);
  }

  bool take_needs_lanes() { return std::exchange(needs_lanes_, false); }

  Stmt lane_by_lane(const Stmt& stmt) {
    needs_lanes_ = false;
    Var lane = make_var(var_->name + ".s", var_->dtype);
    return make(For{.loop_var = lane,
                    .min = make_zero(var_->dtype),
                    .extent = make_const(var_->dtype, lanes_),
                    .body = vectorized(substitute(stmt, Map<Var, PrimExpr>{{var_, min_ + lane}}))});
  }

  Rewriter rewriter_;
  Var var_;
  int lanes_;
  PrimExpr ramp_, min_;
  std::unordered_map<const VarNode*, Var> lets_;
  bool needs_lanes_ = false;  // the expression just visited has no vector form
};

/// What is computed with custom types is said by functions of single values (LowerCustomDatatypes).
bool uses_custom_types(const Stmt& body) {
  bool found = false;
  walk(body, [&](const PrimExprNode* e) { found = found || e->dtype.code >= DataType::kCustom; });
  return found;
}

Stmt make_vector_loops_serial(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const For* loop) -> Stmt {
    Ref<For> inner = self.children(loop);
    return loop->kind == LoopKind::Vectorized ? with(inner, &For::kind, LoopKind::Serial) : inner;
  });
}

Stmt vectorized(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const For* loop) -> Stmt {
    if (loop->kind != LoopKind::Vectorized) return self.children(loop);
    if (uses_custom_types(loop->body)) return with(self.children(loop), &For::kind, LoopKind::Serial);
    const int64_t* lanes = as_int(loop->extent);
    if (!lanes || *lanes < 1)
      throw Error(RuntimeError) << "Failed to vectorize loop with extent " << loop->extent << ": the extent of "
                                << loop->loop_var->name
                                << " has to be a positive constant; split it by a constant first";
    if (*lanes == 1) return self(substitute(loop->body, Map<Var, PrimExpr>{{loop->loop_var, loop->min}}));
    return Vectorizer(loop->loop_var, loop->min, static_cast<int>(*lanes))(loop->body);
  });
}

}  // namespace

Stmt vectorize_loop(const Stmt& body, bool enable) {
  return enable ? vectorized(body) : make_vector_loops_serial(body);
}

Stmt convert_for_loops_to_serial(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const For* loop) -> Stmt {
    Ref<For> inner = self.children(loop);
    return loop->kind == LoopKind::Parallel ? with(inner, &For::kind, LoopKind::Serial) : inner;
  });
}

bool is_lane_by_lane(const Call* call) {
  auto* op = call->op.as<OpNode>();
  // These have vector forms here, although v0.10 does not list them as vectorizable.
  for (const Op& more : {builtin::sigmoid(), builtin::erf(), builtin::log1p(), builtin::rsqrt()})
    if (call->op.same_as(more)) return true;
  return op && Op(op).has("TVectorizable") && Op(op).slot("TVectorizable").to<bool>();
}

PrimExpr vectorize_expr(const PrimExpr& e, const Var& var, const PrimExpr& min, int lanes) {
  return Vectorizer(var, min, lanes).expr(e);
}

bool is_lane_loop(const Var& loop_var) {
  const std::string& name = loop_var->name.str();
  return name.size() > 2 && name.compare(name.size() - 2, 2, ".s") == 0 && name.find("thread") == std::string::npos;
}

}  // namespace tessera
