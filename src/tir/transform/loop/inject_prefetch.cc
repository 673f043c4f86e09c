// What a loop will read some iterations later is prefetched: the mark "prefetch_scope" becomes a Prefetch of the region
// its body touches, that many iterations ahead, and a Prefetch becomes instructions, one for each row of the region.
//
//   prefetch A[i+1, 0:16]     =>     for p in range(1): prefetch(&A[i+1+p, 0], read, 3, data)

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/loops/interval.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

Stmt lower_prefetch(const Prefetch* prefetch) {
  const Buffer& buffer = prefetch->buffer;
  size_t outer = prefetch->bounds.empty() ? 0 : prefetch->bounds.size() - 1;
  Array<PrimExpr> indices;
  std::vector<Var> vars;
  for (size_t axis = 0; axis < prefetch->bounds.size(); ++axis) {
    const Range& range = prefetch->bounds[axis];
    if (axis >= outer) {
      indices.push_back(range->min);
      continue;
    }
    Var var = make_var("prefetch." + buffer->name.str() + "." + std::to_string(axis), range->extent.dtype());
    vars.push_back(var);
    indices.push_back(range->min + var);
  }
  PrimExpr address = make_call(DataType::Handle(), "tir.address_of", {make_load(buffer, indices)});
  Stmt out = evaluate(make_call(buffer->dtype, "tir.prefetch", {address, 0, 3, 1}));
  for (size_t axis = vars.size(); axis-- > 0;) {
    PrimExpr extent = prefetch->bounds[axis]->extent;
    out = make(For{.loop_var = vars[axis], .min = make_zero(extent.dtype()), .extent = extent, .body = out});
  }
  return out;
}

class PrefetchInjector {
 public:
  PrefetchInjector() {
    rewriter_.share_results(false);
    rewriter_.on([](const Prefetch* op) -> Stmt { return lower_prefetch(op); });
    rewriter_.on([this](const For* op) -> Stmt {
      loops_.push_back(op);
      Stmt out = rewriter_.children(op);
      loops_.pop_back();
      return out;
    });
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      Buffer buffer = downcast_or_null<Buffer>(op->node);
      if (op->attr_key != attr::kPrefetchScope || !buffer) return rewriter_.children(op);
      return ahead(op, buffer);
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt ahead(const AttrStmt* op, const Buffer& buffer) {
    Stmt body = rewriter_(op->body);
    if (loops_.empty()) throw Error(ValueError) << "prefetch of " << buffer->name << " stands in no loop";
    arith::Analyzer analyzer;
    loops::VarIntervals inner;
    loops::Box region;
    pre_order(op->body, [&](const Object* node) {
      if (auto* loop = cast_or_null<For>(node))
        inner[loop->loop_var.get()] = loops::Interval::of(make_range(loop->min, loop->extent));
      auto* load = cast_or_null<BufferLoad>(node);
      if (!load || !load->buffer.same_as(buffer)) return true;
      loops::Box here;
      for (const PrimExpr& index : load->indices) here.push_back(loops::eval_interval(index, inner, analyzer));
      loops::widen(&region, here, analyzer);
      return true;
    });
    Var var = loops_.back()->loop_var;
    Map<Var, PrimExpr> later{{var, var + cast(var->dtype, op->value)}};
    Array<Range> bounds;
    for (size_t i = 0; i < region.size(); ++i) {
      Range whole = make_range(make_zero(buffer->shape[i].dtype()), buffer->shape[i]);
      Range used = loops::cover(region[i], whole, analyzer);
      bounds.push_back(make_range(substitute(used->min, later), used->extent));
    }
    if (bounds.empty()) return body;
    Ref<Prefetch> prefetch = make(Prefetch{.buffer = buffer, .bounds = bounds});
    return sequence({lower_prefetch(prefetch.get()), body});
  }

  Rewriter rewriter_;
  std::vector<const For*> loops_;
};

}  // namespace

Stmt inject_prefetch(const Stmt& body) { return PrefetchInjector()(body); }

}  // namespace tessera
