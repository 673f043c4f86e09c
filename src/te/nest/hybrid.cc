// The nest of a hybrid function: its own loops, changed as the schedule of its stage says.
//
//   for i in range(n): S(i)   with i split by 4   =>   for io in range(ceildiv(n, 4)): for ii in range(4):
//                                                        if likely(io*4 + ii < n): S(io*4 + ii)

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/nest/nest.h"
#include "tir/attrs.h"
#include "tir/loops/loop_map.h"

namespace tessera::te {
namespace {

class HybridLoops {
 public:
  HybridLoops(const Stage& stage, arith::Analyzer& analyzer) : stage_(stage), analyzer_(analyzer) {}

  Stmt operator()(Stmt body) {
    for (const IterVarRelation& relation : stage_->relations) {
      if (auto* split = relation.as<Split>()) body = apply(split, body);
      else if (auto* fuse = relation.as<Fuse>()) body = apply(fuse, body);
      else throw unsupported("its loops can be split, fused, reordered and annotated only");
    }
    return annotated(reordered(body));
  }

 private:
  Error unsupported(const char* what) const {
    Error error(ValueError);
    error << "stage " << stage_name(stage_.get()) << " is a hybrid function: " << what;
    return error;
  }

  /// The body with `change` applied to the loop over `axis`.
  Stmt at_loop(const Stmt& body, const IterVar& axis, const std::function<Stmt(const For*)>& change) {
    bool found = false;
    Stmt out = rewrite(body, [&](Rewriter& self, const For* loop) -> Stmt {
      if (!loop->loop_var.same_as(axis->var)) return self.children(loop);
      found = true;
      return change(loop);
    });
    if (!found) throw unsupported("a loop of its schedule is not among those it writes");
    return out;
  }

  static Stmt loop_over(const For* like, const IterVar& axis, const Range& domain, Stmt body) {
    For out(*like);
    out.loop_var = axis->var;
    out.min = domain->min;
    out.extent = domain->extent;
    out.body = std::move(body);
    return make(std::move(out));
  }

  Stmt apply(const Split* split, const Stmt& body) {
    return at_loop(body, split->parent, [&](const For* loop) -> Stmt {
      Range parent = make_range(loop->min, loop->extent);
      loops::LoopMap map = loops::LoopMap::split(split->factor, split->nparts);
      std::vector<Range> domains = map.loop_domains({parent}, false, analyzer_);
      PrimExpr index = map.axis_indices({split->outer->var, split->inner->var}, {parent}, domains)[0];
      Stmt inside = substitute(loop->body, Map<Var, PrimExpr>{{loop->loop_var, index}});
      if (!map.is_exact({parent}, domains, analyzer_))
        inside = if_all({likely(index < parent->min + parent->extent)}, inside);
      return loop_over(loop, split->outer, domains[0], loop_over(loop, split->inner, domains[1], inside));
    });
  }

  Stmt apply(const Fuse* fuse, const Stmt& body) {
    return at_loop(body, fuse->outer, [&](const For* loop) -> Stmt {
      auto* next = loop->body.as<For>();
      if (!next || !next->loop_var.same_as(fuse->inner->var) || uses_var(next->extent, loop->loop_var))
        throw unsupported("only a loop and the one directly inside it can be fused");
      Range outer = make_range(loop->min, loop->extent), inner = make_range(next->min, next->extent);
      loops::LoopMap map = loops::LoopMap::fuse();
      std::vector<Range> domains = map.loop_domains({outer, inner}, false, analyzer_);
      std::vector<PrimExpr> parts = map.axis_indices({fuse->fused->var}, {outer, inner}, domains);
      Stmt inside = substitute(next->body, Map<Var, PrimExpr>{{loop->loop_var, parts[0]}, {next->loop_var, parts[1]}});
      return loop_over(loop, fuse->fused, domains[0], inside);
    });
  }

  /// Loops that stand one in the other, with the guards between them.
  struct Chain {
    std::vector<const For*> loops;
    std::vector<PrimExpr> guards;
    Stmt inside;
  };
  static Chain chain_from(const Stmt& body) {
    Chain chain{{}, {}, body};
    while (true) {
      auto* guard = chain.inside.as<IfThenElse>();
      if (auto* loop = chain.inside.as<For>()) {
        chain.loops.push_back(loop);
        chain.inside = loop->body;
      } else if (guard && !guard->else_case && !chain.loops.empty()) {
        chain.guards.push_back(guard->condition);
        chain.inside = guard->then_case;
      } else {
        return chain;
      }
    }
  }

  size_t rank(const For* loop) const {
    for (size_t i = 0; i < stage_->leaf_iter_vars.size(); ++i)
      if (stage_->leaf_iter_vars[i]->var.same_as(loop->loop_var)) return i;
    return stage_->leaf_iter_vars.size();
  }

  /// Each chain of loops in the order of the stage's leaves; guards move to the inside.
  Stmt reordered(const Stmt& body) {
    return rewrite(body, [&](Rewriter& self, const For* loop) -> Stmt {
      Chain chain = chain_from(Stmt(loop));
      std::vector<const For*> order = chain.loops;
      std::stable_sort(order.begin(), order.end(), [&](const For* a, const For* b) { return rank(a) < rank(b); });
      if (order == chain.loops) return self.children(loop);
      for (const For* one : chain.loops)
        for (const For* other : chain.loops)
          if (uses_var(one->extent, other->loop_var) || uses_var(one->min, other->loop_var))
            throw unsupported("loops whose ends depend on one another keep their order");
      Stmt out = if_all(chain.guards, self(chain.inside));
      for (size_t i = order.size(); i-- > 0;) out = with(order[i], &For::body, out);
      return out;
    });
  }

  Stmt annotated(const Stmt& body) {
    return rewrite(body, [&](Rewriter& self, const For* loop) -> Stmt {
      Ref<For> done = self.children(loop);
      for (const auto& [axis, attr] : stage_->iter_var_attrs)
        if (axis->var.same_as(loop->loop_var)) return annotated(done.get(), attr);
      return done;
    });
  }

  static Stmt annotated(const For* loop, const IterVarAttr& attr) {
    if (IterVar thread = attr->bind_thread) {
      Map<Var, PrimExpr> values{{loop->loop_var, thread->var + loop->min}};
      return make(AttrStmt{.node = thread,
                           .attr_key = attr::kThreadExtent,
                           .value = loop->extent,
                           .body = substitute(loop->body, values)});
    }
    LoopKind kind = loop->kind;
    if (attr->iter_type == IterType::Vectorized) kind = LoopKind::Vectorized;
    if (attr->iter_type == IterType::Unrolled) kind = LoopKind::Unrolled;
    if (attr->iter_type == IterType::Parallelized) kind = LoopKind::Parallel;
    return with(loop, &For::kind, kind);
  }

  Stage stage_;
  arith::Analyzer& analyzer_;
};

}  // namespace

Stmt provide_hybrid(NestBuilder& builder, const Stage& stage) {
  auto* op = stage->op.as<HybridOp>();
  TensorMap<Tensor> own;
  for (size_t i = 0; i < op->outputs.size(); ++i)
    own[op->outputs[i]] = builder.target(output(stage->op, static_cast<int>(i)));
  auto redirect = [&](const DataProducer& producer) {
    Tensor tensor = downcast<Tensor>(producer);
    const Tensor* output = own.find(tensor.get());
    return DataProducer(output ? *output : builder.target(tensor));
  };
  Stmt body = rewrite(
      HybridLoops(stage, builder.analyzer())(op->body),
      [&](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
        return with(self.children(load), &ProducerLoad::producer, redirect(load->producer));
      },
      [&](Rewriter& self, const ProducerStore* store) -> Stmt {
        return with(self.children(store), &ProducerStore::producer, redirect(store->producer));
      },
      [&](Rewriter& self, const ProducerRealize* realize) -> Stmt {
        return with(self.children(realize), &ProducerRealize::producer, redirect(realize->producer));
      });
  return mark_extern(body);
}

}  // namespace tessera::te
