#include <unordered_map>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr int kNotUniform = -1;

/// How a piece of memory is accessed: the one number of lanes, or kNotUniform.
class LaneFinder {
 public:
  explicit LaneFinder(const Stmt& body) {
    visitor_.share_results(false);
    auto& on = visitor_;
    on.on([this](const Allocate* op) -> Stmt {
      const int64_t* size = op->extents.size() == 1 ? as_int(op->extents[0]) : nullptr;
      bool is_plain = size && op->dtype.lanes == 1 && op->annotations.empty();
      if (is_plain)
        lanes_[op->buffer_var.get()] = 0, sizes_[op->buffer_var.get()] = *size,
        dtypes_[op->buffer_var.get()] = op->dtype;
      return visitor_.children(op);
    });
    on.on([this](const For* op) -> Stmt {
      analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
      return visitor_.children(op);
    });
    on.on([this](const VarNode* var) -> PrimExpr { return note(var, kNotUniform), PrimExpr(var); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      note(op->buffer->data.get(), aligned_lanes(op->buffer, op->indices));
      return visitor_.children(op);
    });
    on.on([this](const BufferStore* op) -> Stmt {
      note(op->buffer->data.get(), aligned_lanes(op->buffer, op->indices));
      return visitor_.children(op);
    });
    on.on([this](const AttrStmt* op) -> Stmt {
      if (auto* var = op->node.as<VarNode>()) note(var, kNotUniform);
      return visitor_.children(op);
    });
    visitor_(body);
  }

  /// Lanes of the memory's new element type; 1 when it stays as it is.
  int lanes(const VarNode* memory) const {
    auto it = lanes_.find(memory);
    if (it == lanes_.end() || it->second <= 1 || sizes_.at(memory) % it->second != 0) return 1;
    return it->second;
  }

 private:
  int aligned_lanes(const Buffer& buffer, const Array<PrimExpr>& indices) {
    auto* ramp = indices.size() == 1 ? indices[0].as<Ramp>() : nullptr;
    if (!ramp || !is_one(ramp->stride) || buffer->dtype.lanes != 1) return kNotUniform;
    auto element = dtypes_.find(buffer->data.get());
    if (element == dtypes_.end() || element->second != buffer->dtype) return kNotUniform;
    return analyzer_.modular_set(ramp->base).is_multiple_of(ramp->lanes) ? ramp->lanes : kNotUniform;
  }

  void note(const VarNode* memory, int lanes) {
    auto it = lanes_.find(memory);
    if (it == lanes_.end()) return;
    it->second = it->second == 0 || it->second == lanes ? lanes : kNotUniform;
  }

  Rewriter visitor_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, int> lanes_;
  std::unordered_map<const VarNode*, int64_t> sizes_;
  std::unordered_map<const VarNode*, DataType> dtypes_;
};

class VectorRetyper {
 public:
  explicit VectorRetyper(const Stmt& body) : lanes_(body) {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const Allocate* op) -> Stmt { return on_allocate(op); });
    on.on([this](const For* op) -> Stmt {
      analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
      return rewriter_.children(op);
    });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      if (!memory_.count(op->buffer->data.get())) return rewriter_.children(op);
      return make_load(retyped(op->buffer), {index(op->indices[0])});
    });
    on.on([this](const BufferStore* op) -> Stmt {
      if (!memory_.count(op->buffer->data.get())) return rewriter_.children(op);
      return make(BufferStore{
          .buffer = retyped(op->buffer), .value = rewriter_(op->value), .indices = {index(op->indices[0])}});
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_allocate(const Allocate* op) {
    int lanes = lanes_.lanes(op->buffer_var.get());
    if (lanes == 1) return rewriter_.children(op);
    Allocate out(*op);
    auto* type = op->buffer_var->type_annotation.as<PointerType>();
    out.dtype = op->dtype.with_lanes(lanes);
    out.buffer_var = make_var(op->buffer_var->name, pointer_type(out.dtype, type ? type->storage_scope : String("")));
    out.extents = {make_const(op->extents[0].dtype(), *as_int(op->extents[0]) / lanes)};
    memory_[op->buffer_var.get()] = out.buffer_var;
    out.body = rewriter_(op->body);
    return make(std::move(out));
  }

  Buffer retyped(const Buffer& buffer) {
    auto [it, is_new] = buffers_.try_emplace(buffer.get(), buffer, Buffer());
    if (is_new) {
      BufferNode node(*buffer.get());
      node.data = memory_.at(buffer->data.get());
      int lanes = lanes_.lanes(buffer->data.get());
      node.dtype = buffer->dtype.with_lanes(lanes);
      node.shape = {analyzer_.simplify(floordiv(buffer->shape[0], make_const(buffer->shape[0].dtype(), lanes)))};
      it->second.second = make(std::move(node));
    }
    return it->second.second;
  }

  PrimExpr index(const PrimExpr& ramp) {
    auto* op = ramp.as<Ramp>();
    return analyzer_.simplify(floordiv(op->base, make_const(op->base.dtype(), op->lanes)));
  }

  LaneFinder lanes_;
  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, Var> memory_;
  std::unordered_map<const BufferNode*, std::pair<Buffer, Buffer>> buffers_;
};

}  // namespace

/// Memory that is only accessed by vectors of one length, each at a multiple of it, becomes memory of such vectors:
///   allocate T: float32[256]; T[ramp(i*16, 1, 16)]     =>     allocate T: float32x16[16]; T[i]
Stmt use_vector_types(const Stmt& body) { return VectorRetyper(body)(body); }

}  // namespace tessera
