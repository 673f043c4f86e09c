// Blocks become plain statements: predicates become ifs, their buffers allocations, loops bound to threads launch
// attributes, pragmas attributes. Loops of one iteration disappear.

#include <map>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/flat_buffer.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool is_pragma(const String& key) { return std::string_view(key).substr(0, 7) == attr::kPragmaPrefix; }

class BlockLowerer {
 public:
  BlockLowerer() {
    rewriter_.share_results(false);
    rewriter_.on([this](const BlockRealize* op) -> Stmt { return on_realize(op); });
    rewriter_.on([this](const For* op) -> Stmt { return on_loop(op); });
    rewriter_.on([this](const VarNode* var) -> PrimExpr {
      auto it = unit_loops_.find(var);
      return it == unit_loops_.end() ? PrimExpr(var) : it->second;
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_realize(const BlockRealize* op) {
    const Block& block = op->block;
    if (!block->iter_vars.empty())
      throw Error(ValueError) << "block " << block->name_hint
                              << " has iteration variables of its own; run ConvertBlocksToOpaque first";
    PrimExpr predicate = rewriter_(op->predicate);
    Stmt body = rewriter_(block->body);
    if (!is_one(predicate)) body = make(IfThenElse{.condition = predicate, .then_case = body});
    for (size_t i = block->alloc_buffers.size(); i-- > 0;) body = allocate(block, block->alloc_buffers[i], body);
    return with_pragmas(Var(), block->annotations, body);
  }

  static Stmt allocate(const Block& block, const Buffer& buffer, Stmt body) {
    Array<PrimExpr> extents = buffer->shape;
    if (!buffer->strides.empty()) {
      // With strides, the memory is that of a buffer whose inner extents are the ratios of neighbouring strides, rounded
      // up where one is not a multiple of the next.
      arith::Analyzer analyzer;
      for (size_t i = 1; i < extents.size(); ++i) {
        PrimExpr outer = buffer->strides[i - 1], inner = buffer->strides[i];
        bool is_multiple = analyzer.can_prove(equal(floormod(outer, inner), make_zero(inner.dtype())));
        extents.set(i, analyzer.simplify(floordiv(is_multiple ? outer : outer + inner - 1, inner)));
      }
      if (!is_one(buffer->strides.back()))
        extents.set(extents.size() - 1, analyzer.simplify(extents.back() * buffer->strides.back()));
    }
    Map<String, ObjectRef> annotations;
    for (const auto& [key, value] : block->annotations)
      if (key == "tir.allocate_annotation") annotations.set(key, value);
    body = make(DeclBuffer{.buffer = buffer, .body = body});
    return make(Allocate{.buffer_var = buffer->data,
                         .dtype = buffer->dtype,
                         .extents = extents,
                         .condition = bool_imm(true),
                         .body = body,
                         .annotations = annotations});
  }

  static Stmt pragma(const Var& var, const String& key, const ObjectRef& value, Stmt body) {
    ObjectRef node = int_imm(DataType::Int(32), 0);
    if (var) node = make_iter_var(Range(), var, IterType::Opaque);
    PrimExpr amount = downcast_or_null<PrimExpr>(value);
    if (auto* text = value.as<StringNode>()) amount = string_imm(String(text));
    if (!amount)
      throw Error(TypeError) << "pragma " << key << ": expected a number or a string, got " << to_text(value);
    return make(AttrStmt{.node = node, .attr_key = key, .value = amount, .body = body});
  }

  /// One attribute for each pragma, those of earlier keys outside.
  static Stmt with_pragmas(const Var& var, const Map<String, ObjectRef>& annotations, Stmt body) {
    std::map<std::string, ObjectRef> pragmas;
    for (const auto& [key, value] : annotations)
      if (is_pragma(key)) pragmas[key.str()] = value;
    for (auto it = pragmas.rbegin(); it != pragmas.rend(); ++it) body = pragma(var, it->first, it->second, body);
    return body;
  }

  Stmt on_loop(const For* op) {
    PrimExpr min = rewriter_(op->min), extent = rewriter_(op->extent);
    bool is_plain_unit = is_one(extent) && op->kind != LoopKind::ThreadBinding && op->annotations.empty();
    if (is_plain_unit) unit_loops_[op->loop_var.get()] = min;
    Stmt body = rewriter_(op->body);
    if (is_plain_unit) return body;
    if (op->kind == LoopKind::ThreadBinding) {
      body = launch(op, extent, body);
    } else {
      For out(*op);
      out.min = min;
      out.extent = extent;
      out.body = body;
      out.annotations = {};
      for (const auto& [key, value] : op->annotations)
        if (!is_pragma(key)) out.annotations.set(key, value);
      body = make(std::move(out));
    }
    return with_pragmas(op->loop_var, op->annotations, body);
  }

  static Stmt launch(const For* op, const PrimExpr& extent, const Stmt& body) {
    String tag = op->thread_binding->thread_tag;
    IterVar axis = make_iter_var(Range(), op->loop_var, IterType::ThreadIndex, tag);
    bool is_virtual = std::string_view(tag).substr(0, 7) == "vthread";
    return make(AttrStmt{.node = axis,
                         .attr_key = is_virtual ? attr::kVirtualThread : attr::kThreadExtent,
                         .value = extent,
                         .body = body});
  }

  Rewriter rewriter_;
  std::unordered_map<const VarNode*, PrimExpr> unit_loops_;
};

}  // namespace

/// Loops are split where the guards of blocks begin and end to hold (LoopPartition).
Stmt mark_guards(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const BlockRealize* op) -> Stmt {
    Ref<BlockRealize> out = self.children(op);
    return is_one(out->predicate) ? Stmt(out) : Stmt(with(out, &BlockRealize::predicate, likely(out->predicate)));
  });
}

PrimFunc lower_opaque_block(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, BlockLowerer()(function->body));
}

}  // namespace tessera
