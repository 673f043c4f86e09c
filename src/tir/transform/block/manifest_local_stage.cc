// A block marked "tir.manifest_shared_memory_local_stage" copies into shared memory by way of registers: all loads first,
// then all stores, so that a software pipeline can put other work in between.
//
//   for i: S[f(i)] = G[g(i)]      =>      for i: L[i] = G[g(i)];   for i: S[f(i)] = L[i]

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/flat_sequence.h"
#include "tir/remap.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class LocalStages {
 public:
  LocalStages() {
    rewriter_.share_results(false);
    rewriter_.on([this](const BlockNode* op) -> Stmt {
      std::vector<Buffer> outer = std::exchange(buffers_, {});
      BlockNode out(*rewriter_.children(op).get());
      for (const Buffer& buffer : buffers_) out.alloc_buffers.push_back(buffer);
      buffers_ = std::move(outer);
      return make(std::move(out));
    });
    rewriter_.on([this](const For* op) -> Stmt {
      const BlockRealize* marked = marked_inside(op);
      return marked ? staged(op, marked) : Stmt(rewriter_.children(op));
    });
    rewriter_.on(flat_sequence);
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  /// The marked block that the loops from here on hold alone.
  static const BlockRealize* marked_inside(const For* loop) {
    const Stmt* at = &loop->body;
    while (auto* inner = at->as<For>()) at = &inner->body;
    auto* realize = at->as<BlockRealize>();
    return realize && realize->block->annotations.count(attr::kManifestSharedMemoryLocalStage) ? realize : nullptr;
  }

  Stmt staged(const For* nest, const BlockRealize* realize) {
    const BlockNode* block = realize->block.get();
    auto* store = block->body.as<BufferStore>();
    if (!store || !block->iter_vars.empty() || block->writes.size() != 1)
      throw Error(ValueError) << "block " << block->name_hint
                              << " is marked to be staged through local memory: its body "
                              << "has to be one store, and its iteration variables replaced by loops";
    Array<PrimExpr> shape, indices;
    for (const For* loop = nest; loop; loop = loop->body.as<For>()) {
      if (loop->kind == LoopKind::ThreadBinding) continue;
      shape.push_back(loop->extent);
      indices.push_back(loop->loop_var - loop->min);
    }
    if (shape.empty()) {
      shape.push_back(make_const(DataType::Int(32), 1));
      indices.push_back(make_const(DataType::Int(32), 0));
    }
    Buffer local = decl_buffer(shape, store->value.dtype(), store->buffer->name + "_local", "local");
    buffers_.push_back(local);
    Array<Range> region;
    for (const PrimExpr& index : indices) region.push_back(make_range(index, make_const(index.dtype(), 1)));
    BufferRegion element = make(BufferRegionNode{.buffer = local, .region = region});

    BlockNode fetch(*block), put(*block);
    for (BlockNode* each : {&fetch, &put}) each->annotations.erase(attr::kManifestSharedMemoryLocalStage);
    fetch.body = make(BufferStore{.buffer = local, .value = store->value, .indices = indices});
    fetch.writes = {element};
    put.name_hint = block->name_hint + "_shared";
    put.body = with(Ref<BufferStore>(store), &BufferStore::value, make_load(local, indices));
    put.reads = {element};
    Stmt first = around(nest, realize, make(std::move(fetch)));
    Remap copy([](const Var&) { return PrimExpr(); });
    copy.renew_definitions();
    return sequence({first, copy(around(nest, realize, make(std::move(put))))});
  }

  /// The loops of `nest` with `block` inside.
  static Stmt around(const For* nest, const BlockRealize* realize, const Block& block) {
    std::vector<const For*> loops;
    for (const For* loop = nest; loop; loop = loop->body.as<For>()) loops.push_back(loop);
    Stmt out = with(Ref<BlockRealize>(realize), &BlockRealize::block, block);
    for (size_t i = loops.size(); i-- > 0;) out = with(Ref<For>(loops[i]), &For::body, out);
    return out;
  }

  Rewriter rewriter_;
  std::vector<Buffer> buffers_;  // for the block at hand
};

}  // namespace

PrimFunc manifest_local_stage(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, LocalStages()(function->body));
}

}  // namespace tessera
