// Virtual threads become copies of the statements that differ between them; memory that differs gets a copy each.
//
//   attr virtual_thread(v) = 2: for i: L[i] = A[v*8 + i]     =>     for i: { L[i] = A[i]; L[i + 8] = A[i + 8] }
//
// A statement is copied when it uses the thread's variable, or memory whose content depends on it.

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/convert_ssa.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr int64_t kMaxCopies = 16;  // beyond, a loop

using VarSet = std::unordered_set<const VarNode*>;

/// The variable and all variables and memory that depend on it.
VarSet find_dependent(const Stmt& body, const Var& var) {
  VarSet dependent{var.get()};
  size_t before = 0;
  auto depends = [&](const ObjectRef& e) {
    bool found = false;
    pre_order(e, [&](const Object* node) {
      if (auto* v = cast_or_null<VarNode>(node)) found = found || dependent.count(v);
      if (auto* load = cast_or_null<BufferLoad>(node)) found = found || dependent.count(load->buffer->data.get());
      return !found;
    });
    return found;
  };
  while (before != dependent.size()) {
    before = dependent.size();
    walk(
        body,
        [&](const BufferStore* op) {
          if (depends(op->value) || depends(op->indices)) dependent.insert(op->buffer->data.get());
        },
        [&](const LetStmt* op) {
          if (depends(op->value)) dependent.insert(op->var.get());
        },
        [&](const For* op) {
          if (depends(op->min) || depends(op->extent)) dependent.insert(op->loop_var.get());
        },
        [&](const IfThenElse* op) {
          if (!depends(op->condition)) return;
          walk(Stmt(op), [&](const BufferStore* store) { dependent.insert(store->buffer->data.get()); });
        },
        [&](const Call* op) {  // memory handed to a call may be written by it
          if (!depends(op->args)) return;
          for (const PrimExpr& arg : op->args)
            if (auto* v = arg.as<VarNode>(); v && v->dtype.is_handle()) dependent.insert(v);
        });
  }
  return dependent;
}

class VirtualThread {
 public:
  VirtualThread(Var var, int64_t count, VarSet dependent)
      : var_(std::move(var)), count_(count), dependent_(std::move(dependent)) {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const BufferStore* op) -> Stmt { return differs(op) ? copies(Stmt(op)) : Stmt(op); });
    on.on([this](const Evaluate* op) -> Stmt { return differs(op) ? copies(Stmt(op)) : Stmt(op); });
    on.on([this](const LetStmt* op) -> Stmt { return head(op, op->value, &LetStmt::body); });
    on.on([this](const AssertStmt* op) -> Stmt { return head(op, op->condition, &AssertStmt::body); });
    on.on([this](const AttrStmt* op) -> Stmt { return head(op, op->value, &AttrStmt::body); });
    on.on([this](const While* op) -> Stmt { return head(op, op->condition, &While::body); });
    on.on([this](const For* op) -> Stmt {
      if (uses(op->min) || uses(op->extent)) return copies(Stmt(op));
      return with(op, &For::body, rewriter_(op->body));
    });
    on.on([this](const IfThenElse* op) -> Stmt {
      if (uses(op->condition)) return copies(Stmt(op));
      return make(IfThenElse{
          .condition = op->condition, .then_case = rewriter_(op->then_case), .else_case = rewriter_(op->else_case)});
    });
    on.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
  }

  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  bool uses(const ObjectRef& e) const {
    bool found = false;
    pre_order(e, [&](const Object* node) {
      if (auto* v = cast_or_null<VarNode>(node)) found = found || dependent_.count(v);
      if (auto* load = cast_or_null<BufferLoad>(node)) found = found || dependent_.count(load->buffer->data.get());
      if (auto* store = cast_or_null<BufferStore>(node)) found = found || dependent_.count(store->buffer->data.get());
      return !found;
    });
    return found;
  }
  template <class T>
  bool differs(const T* op) const {
    return uses(Stmt(op));
  }

  template <class T>
  Stmt head(const T* op, const PrimExpr& value, Stmt T::* body) {
    return uses(value) ? copies(Stmt(op)) : Stmt(with(op, body, rewriter_(op->*body)));
  }

  /// The statement once for each thread, with the threads' own memory.
  Stmt copies(const Stmt& stmt) {
    Rewriter inner;
    inner.share_results(false);
    inner.on([this](Rewriter& self, const BufferLoad* op) -> PrimExpr {
      return own(make_load(op->buffer, self(op->indices)));
    });
    inner.on([this](Rewriter& self, const BufferStore* op) -> Stmt {
      Array<PrimExpr> indices = self(op->indices);
      PrimExpr value = self(op->value);
      auto [buffer, moved] = own(op->buffer, indices);
      return make(BufferStore{.buffer = buffer, .value = value, .indices = moved});
    });
    inner.on([this](Rewriter& self, const Call* op) -> PrimExpr {
      Ref<Call> out = self.children(op);
      if (!builtin::is(op, builtin::tvm_access_ptr())) return out;
      auto it = strides_.find(op->args[1].as<VarNode>());
      if (it == strides_.end()) return out;
      Array<PrimExpr> args = out->args;
      args.set(2, args[2] + cast(args[2].dtype(), var_ * it->second));
      return make_call(op->dtype, op->op, args);
    });
    Stmt one = inner(stmt);
    if (count_ >= kMaxCopies || has_loop(one)) {
      Var index = make_var(var_->name + ".s", var_->dtype);
      return make(For{.loop_var = index,
                      .min = make_zero(var_->dtype),
                      .extent = make_const(var_->dtype, count_),
                      .body = substitute(one, Map<Var, PrimExpr>{{var_, index}})});
    }
    std::vector<Stmt> out;
    for (int64_t i = 0; i < count_; ++i)
      out.push_back(substitute(one, Map<Var, PrimExpr>{{var_, make_const(var_->dtype, i)}}));
    return sequence(out);
  }

  static bool has_loop(const Stmt& stmt) {
    bool found = false;
    walk(stmt, [&](const For*) { found = true; });
    return found;
  }

  std::pair<Buffer, Array<PrimExpr>> own(const Buffer& buffer, Array<PrimExpr> indices) {
    auto it = strides_.find(buffer->data.get());
    if (it == strides_.end()) return {buffer, indices};
    PrimExpr& wide = wide_[buffer.get()].second;
    Buffer& larger = wide_[buffer.get()].first;
    if (!wide) {
      BufferNode node(*buffer.get());
      wide = node.shape[0];
      node.shape.set(0, wide * make_const(wide.dtype(), count_));
      larger = make(std::move(node));
      keep_.push_back(buffer);
    }
    PrimExpr shift = cast(indices[0].dtype().element(), var_ * it->second);
    if (indices[0].dtype().lanes > 1) shift = make_broadcast(shift, indices[0].dtype().lanes);
    if (auto* ramp = indices[0].as<Ramp>())
      indices.set(0, make_ramp(ramp->base + shift.as<Broadcast>()->value, ramp->stride, ramp->lanes));
    else indices.set(0, indices[0] + shift);
    return {larger, indices};
  }
  PrimExpr own(const PrimExpr& load) {
    auto* op = load.as<BufferLoad>();
    auto [buffer, indices] = own(op->buffer, op->indices);
    return make_load(buffer, indices);
  }

  Stmt on_allocate(const Allocate* op) {
    if (uses(op->condition) || uses(op->extents)) return copies(Stmt(op));
    Allocate out(*op);
    if (dependent_.count(op->buffer_var.get())) {
      if (op->extents.size() != 1)
        throw Error(ValueError) << "InjectVirtualThread: " << op->buffer_var->name << " is not flat; flatten it first";
      strides_[op->buffer_var.get()] = cast(var_->dtype, op->extents[0]);
      out.extents = {op->extents[0] * make_const(op->extents[0].dtype(), count_)};
    }
    out.body = rewriter_(op->body);
    return make(std::move(out));
  }

  Var var_;
  int64_t count_;
  VarSet dependent_;
  Rewriter rewriter_;
  std::unordered_map<const VarNode*, PrimExpr> strides_;  // elements of one thread's copy
  std::unordered_map<const BufferNode*, std::pair<Buffer, PrimExpr>> wide_;
  std::vector<Buffer> keep_;
};

}  // namespace

Stmt inject_virtual_thread(const Stmt& body) {
  Stmt out = rewrite(body, [](Rewriter& self, const AttrStmt* op) -> Stmt {
    if (op->attr_key != attr::kVirtualThread) return self.children(op);
    Stmt inner = self(op->body);
    Var var = op->node.as<IterVarNode>()->var;
    const int64_t* count = as_int(op->value);
    if (!count)
      throw Error(ValueError) << "virtual thread " << var->name << " has the extent " << op->value
                              << "; it has to be a constant";
    return VirtualThread(var, *count, find_dependent(inner, var))(inner);
  });
  return out.same_as(body) ? body : convert_ssa(out);
}

}  // namespace tessera
