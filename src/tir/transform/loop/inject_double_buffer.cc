// A buffer marked double_buffer_scope gets two halves: while one is read, the next iteration's data goes into the other.
//
//   for k: { fill(P, k); use(P) }     =>     fill(P[0], 0)
//                                            for k in range(n - 1): { fill(P[(k+1)%2], k+1); use(P[k%2]) }
//                                            use(P[(n-1)%2])

#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/convert_ssa.h"
#include "tir/attrs.h"
#include "tir/transform/config.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

Stmt strip_writes(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const AttrStmt* op) -> Stmt {
    return op->attr_key == attr::kDoubleBufferWrite ? make_nop() : Stmt(self.children(op));
  });
}

/// Outside of all loops there is no next iteration: the mark means nothing there.
Stmt drop_marks_outside_loops(const Stmt& body) {
  return rewrite(
      body, [](Rewriter&, const For* loop) -> Stmt { return Stmt(loop); },
      [](Rewriter& self, const AttrStmt* op) -> Stmt {
        return op->attr_key == attr::kDoubleBufferScope ? self(op->body) : Stmt(self.children(op));
      });
}

class DoubleBufferInjector {
 public:
  DoubleBufferInjector(const Stmt& body, int split_loop) : split_loop_(split_loop) {
    walk(body, [this](const AttrStmt* op) {
      if (op->attr_key != attr::kDoubleBufferScope) return;
      if (auto* var = op->node.as<VarNode>()) entries_[var];
    });
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
    on.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
    on.on([this](const For* op) -> Stmt { return on_loop(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      auto [buffer, indices] = halved(op->buffer, rewriter_(op->indices));
      return make_load(buffer, indices);
    });
    on.on([this](const BufferStore* op) -> Stmt {
      PrimExpr value = rewriter_(op->value);
      auto [buffer, indices] = halved(op->buffer, rewriter_(op->indices));
      return make(BufferStore{.buffer = buffer, .value = value, .indices = indices});
    });
  }

  bool has_work() const { return !entries_.empty(); }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  struct Entry {
    PrimExpr stride;       // elements of one half
    PrimExpr write, read;  // which half
    const For* loop = nullptr;
  };

  Stmt on_allocate(const Allocate* op) {
    auto it = entries_.find(op->buffer_var.get());
    if (it == entries_.end()) return rewriter_.children(op);
    if (op->extents.size() != 1)
      throw Error(ValueError) << "InjectDoubleBuffer: " << op->buffer_var->name << " is not flat; flatten it first";
    it->second.stride = op->extents[0];
    Allocate out(*op);
    out.extents = {op->extents[0] * make_const(op->extents[0].dtype(), 2)};
    out.body = make_nop();
    Stmt body = rewriter_(op->body);
    if (!it->second.loop)
      throw Error(ValueError) << "double buffer " << op->buffer_var->name << " is not filled inside a loop";
    allocations_[it->second.loop].push_back(make(std::move(out)));
    // When the loop lies inside, the allocation stays around it; else it moves out to the loop.
    auto held = allocations_.find(it->second.loop);
    for (const For* open : loops_)
      if (open == it->second.loop) return body;
    Stmt around = held->second.back();
    held->second.pop_back();
    return with(around.as<Allocate>(), &Allocate::body, body);
  }

  Stmt on_attr(const AttrStmt* op) {
    auto* var = op->node.as<VarNode>();
    if (op->attr_key != attr::kDoubleBufferScope || !var) return rewriter_.children(op);
    return fill(op, var);
  }

  Stmt fill(const AttrStmt* op, const VarNode* memory) {
    if (loops_.empty()) throw Error(ValueError) << "double buffer " << memory->name << " is not filled inside a loop";
    Entry& entry = entries_.at(memory);
    const For* loop = entry.loop = loops_.back();
    DataType dtype = loop->loop_var->dtype;
    PrimExpr two = make_const(dtype, 2), next = loop->loop_var + make_const(dtype, 1);
    Var half = make_var(loop->loop_var->name + ".db", dtype);
    entry.write = half;
    entry.read = indexmod(loop->loop_var, two);
    filling_.insert(memory);
    Stmt body = rewriter_(op->body);
    filling_.erase(memory);
    before_[loop].push_back(
        substitute(body, Map<Var, PrimExpr>{{half, make_zero(dtype)}, {loop->loop_var, loop->min}}));
    body = substitute(body, Map<Var, PrimExpr>{{half, indexmod(next, two)}, {loop->loop_var, next}});
    body = make(AttrStmt{.node = Var(memory), .attr_key = attr::kDoubleBufferWrite, .value = 1, .body = body});
    return make(IfThenElse{.condition = next < loop->extent, .then_case = body});
  }

  Stmt on_loop(const For* op) {
    loops_.push_back(op);
    Stmt out = rewriter_.children(op);
    loops_.pop_back();
    auto before = before_.find(op);
    if (before != before_.end()) {
      if (split_loop_ != 0) out = split(out.as<For>());
      std::vector<Stmt> parts = before->second;
      parts.push_back(out);
      out = sequence(parts);
      before_.erase(before);
    }
    auto allocations = allocations_.find(op);
    if (allocations == allocations_.end()) return out;
    for (const Stmt& allocation : allocations->second) out = with(allocation.as<Allocate>(), &Allocate::body, out);
    return out;
  }

  /// All iterations but the last `split_loop` (at least one), unrolled by that factor; then those, the very last without
  /// filling.
  Stmt split(const For* loop) {
    DataType dtype = loop->loop_var->dtype;
    if (!is_zero(loop->min))
      throw Error(ValueError) << "InjectDoubleBuffer: loop " << loop->loop_var->name << " has to begin at zero";
    PrimExpr factor = make_const(dtype, split_loop_);
    PrimExpr outer_extent = floordiv(loop->extent - make_const(dtype, 1), factor);
    Var outer = make_var(loop->loop_var->name + ".outer", dtype);
    std::vector<Stmt> inside, parts;
    for (int i = 0; i < split_loop_; ++i)
      inside.push_back(
          substitute(loop->body, Map<Var, PrimExpr>{{loop->loop_var, outer * factor + make_const(dtype, i)}}));
    For main(*loop);
    main.loop_var = outer;
    main.extent = outer_extent;
    main.body = sequence(inside);
    parts.push_back(make(std::move(main)));
    Stmt last = strip_writes(loop->body);
    for (int i = 0; i < split_loop_; ++i) {
      PrimExpr index = outer_extent * factor + make_const(dtype, i);
      const Stmt& body = i + 1 < split_loop_ ? loop->body : last;  // another may follow, and needs its data
      parts.push_back(make(IfThenElse{.condition = index < loop->extent,
                                      .then_case = substitute(body, Map<Var, PrimExpr>{{loop->loop_var, index}})}));
    }
    return sequence(parts);
  }

  std::pair<Buffer, Array<PrimExpr>> halved(const Buffer& buffer, Array<PrimExpr> indices) {
    auto it = entries_.find(buffer->data.get());
    if (it == entries_.end()) return {buffer, indices};
    const Entry& entry = it->second;
    ICHECK(entry.stride && entry.read) << "double buffer " << buffer->name << " is used before it is filled";
    PrimExpr half = filling_.count(buffer->data.get()) ? entry.write : entry.read;
    auto [made, is_new] = halves_.try_emplace(buffer.get(), buffer, Buffer());
    if (is_new) {
      BufferNode node(*buffer.get());
      node.shape = {buffer->shape[0] * make_const(buffer->shape[0].dtype(), 2)};
      made->second.second = make(std::move(node));
    }
    PrimExpr shift = cast(indices[0].dtype().element(), half * cast(half.dtype(), entry.stride));
    if (auto* ramp = indices[0].as<Ramp>()) indices.set(0, make_ramp(shift + ramp->base, ramp->stride, ramp->lanes));
    else indices.set(0, shift + indices[0]);
    return {made->second.second, indices};
  }

  int split_loop_;
  Rewriter rewriter_;
  std::unordered_map<const VarNode*, Entry> entries_;
  std::unordered_set<const VarNode*> filling_;
  std::vector<const For*> loops_;
  std::unordered_map<const For*, std::vector<Stmt>> before_, allocations_;
  std::unordered_map<const BufferNode*, std::pair<Buffer, Buffer>> halves_;
};

}  // namespace

PrimFunc inject_double_buffer(const PrimFunc& function, const PassContext& context) {
  int split_loop = context.options<InjectDoubleBufferConfig>("tir.InjectDoubleBuffer")->split_loop;
  if (split_loop != 1 && split_loop % 2 != 0)
    throw Error(ValueError) << "tir.InjectDoubleBuffer: split_loop has to be 0, 1 or even, got " << split_loop;
  Stmt body = drop_marks_outside_loops(function->body);
  DoubleBufferInjector injector(body, split_loop);
  return with_body(function, injector.has_work() ? convert_ssa(injector(body)) : body);
}

}  // namespace tessera
