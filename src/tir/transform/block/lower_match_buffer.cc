// Views of regions (match_buffer) disappear: accesses go to the source, and the variables of the view's strides and
// offset stand for what they are bound to.

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/flat_buffer.h"
#include "tir/transform/function/arg_binder.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class MatchLowerer {
 public:
  MatchLowerer() {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const VarNode* var) -> PrimExpr {
      auto it = defs_.find(var);
      return it == defs_.end() ? PrimExpr(var) : it->second;
    });
    on.on([this](const BlockNode* op) -> Stmt { return on_block(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      auto [buffer, indices] = resolve(op->buffer, rewriter_(op->indices));
      return make_load(buffer, indices);
    });
    on.on([this](const BufferStore* op) -> Stmt {
      auto [buffer, indices] = resolve(op->buffer, rewriter_(op->indices));
      return make(BufferStore{.buffer = buffer, .value = rewriter_(op->value), .indices = indices});
    });
    on.on([this](const BufferRegionNode* op) -> BufferRegion { return resolve_region(op); });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_block(const BlockNode* op) {
    std::vector<Stmt> asserts;
    for (const MatchBufferRegion& match : op->match_buffers)
      for (const Stmt& check : bind(match)) asserts.push_back(check);
    BlockNode out(*op);
    out.match_buffers = {};
    Ref<BlockNode> inner = make(std::move(out));
    inner = rewriter_.children(inner.get());
    return with(inner, &BlockNode::body, merge_nest(asserts, inner->body));
  }

  std::vector<Stmt> bind(const MatchBufferRegion& match) {
    BufferRegion source = rewriter_(match->source);  // outer views are resolved by this
    const Buffer& whole = source->buffer;
    Array<PrimExpr> begins, extents;
    for (const Range& range : source->region) {
      begins.push_back(range->min);
      extents.push_back(range->extent);
    }
    arith::Analyzer analyzer;
    BufferNode slice(*whole.get());
    slice.elem_offset = analyzer.simplify(flat_indices(whole, begins)[0]);
    if (slice.strides.empty()) slice.strides = compact_strides(whole->shape);
    slice.shape = extents;
    ArgBinder binder(&defs_);
    binder.bind_buffer(match->buffer, make(std::move(slice)), match->buffer->name.str(), true);
    views_[match->buffer.get()] = source;
    keep_.push_back(match->buffer);
    return binder.asserts();
  }

  std::pair<Buffer, Array<PrimExpr>> resolve(const Buffer& buffer, const Array<PrimExpr>& indices) {
    auto it = views_.find(buffer.get());
    if (it == views_.end()) return {buffer, indices};
    const BufferRegion& source = it->second;
    size_t extra = source->region.size() - indices.size();
    Array<PrimExpr> moved;
    for (size_t i = 0; i < source->region.size(); ++i)
      moved.push_back(i < extra ? source->region[i]->min : source->region[i]->min + indices[i - extra]);
    return {source->buffer, moved};
  }

  BufferRegion resolve_region(const BufferRegionNode* op) {
    Array<Range> region;
    for (const Range& range : op->region) region.push_back(make_range(rewriter_(range->min), rewriter_(range->extent)));
    auto it = views_.find(op->buffer.get());
    if (it == views_.end()) return make(BufferRegionNode{.buffer = op->buffer, .region = region});
    const BufferRegion& source = it->second;
    size_t extra = source->region.size() - region.size();
    Array<Range> moved;
    for (size_t i = 0; i < source->region.size(); ++i) {
      PrimExpr begin = source->region[i]->min;
      moved.push_back(i < extra ? make_range(begin, make_const(begin.dtype(), 1))
                                : make_range(begin + region[i - extra]->min, region[i - extra]->extent));
    }
    return make(BufferRegionNode{.buffer = source->buffer, .region = moved});
  }

  Rewriter rewriter_;
  std::unordered_map<const VarNode*, PrimExpr> defs_;
  std::unordered_map<const BufferNode*, BufferRegion> views_;
  std::vector<Buffer> keep_;
};

}  // namespace

Stmt lower_match_buffer(const Stmt& body) { return MatchLowerer()(body); }

}  // namespace tessera
