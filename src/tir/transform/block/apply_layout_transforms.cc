// Buffers take the layouts that the attribute "layout_transform_map" of their function gives them: each is mapped by its
// index maps, one after another.
//
//   A: Buffer(16, 16), A -> lambda i, j: (i, j // 4, j % 4)      =>      A: Buffer(16, 4, 4); A[i, j] is A[i, j // 4, j % 4]

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/index_map.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr const char* kLayoutTransformMap = "layout_transform_map";

class LayoutTransformer {
 public:
  explicit LayoutTransformer(const Map<Buffer, Array<IndexMap>>& maps) {
    for (const auto& [buffer, chain] : maps) {
      Array<PrimExpr> shape = buffer->shape;
      for (const IndexMap& map : chain) shape = map_shape(map, shape);
      BufferNode laid_out(*buffer.get());
      laid_out.shape = shape;
      laid_out.strides = {};
      targets_[buffer.get()] = {buffer, make(std::move(laid_out)), chain};
    }
    rewriter_.share_results(false);
    rewriter_.on([this](const BufferLoad* op) -> PrimExpr {
      const Target* target = find(op->buffer);
      if (!target) return rewriter_.children(op);
      return make_load(target->laid_out, mapped(*target, rewriter_(op->indices)));
    });
    rewriter_.on([this](const BufferStore* op) -> Stmt {
      const Target* target = find(op->buffer);
      if (!target) return rewriter_.children(op);
      return make(BufferStore{.buffer = target->laid_out,
                              .value = rewriter_(op->value),
                              .indices = mapped(*target, rewriter_(op->indices))});
    });
    rewriter_.on([this](const BufferRealize* op) -> Stmt {
      const Target* target = find(op->buffer);
      if (!target) return rewriter_.children(op);
      BufferRealize out(*op);
      out.buffer = target->laid_out;
      for (const IndexMap& map : target->chain) out.bounds = map_ranges(map, out.bounds);
      out.condition = rewriter_(op->condition);
      out.body = rewriter_(op->body);
      return make(std::move(out));
    });
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      Ref<AttrStmt> out = rewriter_.children(op);
      Buffer buffer = downcast_or_null<Buffer>(op->node);
      const Target* target = buffer ? find(buffer) : nullptr;
      return target ? with(out, &AttrStmt::node, ObjectRef(target->laid_out)) : out;
    });
  }

  PrimFunc operator()(const PrimFunc& function) {
    PrimFuncNode out(*function.get());
    for (const auto& [param, buffer] : function->buffer_map)
      if (const Target* target = find(buffer)) out.buffer_map.set(param, target->laid_out);
    out.body = rewriter_(function->body);
    out.attrs = function->attrs.without(kLayoutTransformMap);
    return make(std::move(out));
  }

 private:
  struct Target {
    Buffer original, laid_out;
    Array<IndexMap> chain;
  };

  const Target* find(const Buffer& buffer) const {
    auto it = targets_.find(buffer.get());
    return it == targets_.end() ? nullptr : &it->second;
  }
  static Array<PrimExpr> mapped(const Target& target, Array<PrimExpr> indices) {
    for (const IndexMap& map : target.chain) indices = map_indices(map, indices);
    return indices;
  }

  Rewriter rewriter_;
  std::unordered_map<const BufferNode*, Target> targets_;
};

}  // namespace

PrimFunc apply_layout_transforms(const PrimFunc& function) {
  ObjectRef maps = function->attrs.get_attr(kLayoutTransformMap);
  return maps ? LayoutTransformer(downcast<Map<Buffer, Array<IndexMap>>>(maps))(function) : function;
}

}  // namespace tessera
