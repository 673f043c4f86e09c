// A loop nest that copies, marked with a pragma, becomes what the user's function makes of it: a DMA instruction, say.
//
//   attr pragma_<key>: for i, j: D[...] = S[...]                         =>   fintrin(S', D', [], [], None)
//   attr pragma_<key>: for i, j: D[...] = if_then_else(c, S[...], p)     =>   fintrin(S', D', pad_before, pad_after, p)
//
// S' and D' are buffers over the loops: their shapes are the loops' extents (of S' only where c holds), their strides and
// offsets those of the accesses.

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// What a copy nest is made of.
struct Copy {
  std::vector<const For*> loops;
  const BufferStore* store = nullptr;
  const BufferLoad* load = nullptr;
  PrimExpr condition, pad_value;  // empty: copies everything
};

Error not_a_copy(const Stmt& body, const std::string& why) {
  return Error(ValueError) << "InjectCopyIntrin: cannot match copy pattern: " << why << " in\n" << to_text(body);
}

Copy match(const Stmt& body) {
  Copy out;
  const Stmt* at = &body;
  while (auto* loop = at->as<For>()) {
    out.loops.push_back(loop);
    at = &loop->body;
  }
  out.store = at->as<BufferStore>();
  if (!out.store) throw not_a_copy(body, "there is no store");
  PrimExpr value = out.store->value;
  if (auto* select = value.as<Select>()) {
    out.condition = select->condition;
    out.pad_value = select->false_value;
    value = select->true_value;
  } else if (auto* call = value.as<Call>(); call && is_call(call, "tir.if_then_else")) {
    out.condition = call->args[0];
    out.pad_value = call->args[2];
    value = call->args[1];
  }
  if (auto* cast = value.as<Cast>()) value = cast->value;
  out.load = value.as<BufferLoad>();
  if (!out.load) throw not_a_copy(body, "what is stored is not loaded");
  if (out.load->indices.size() != 1 || out.store->indices.size() != 1)
    throw not_a_copy(body, "memory is not flat yet; run it after phase 1");
  return out;
}

/// Strides of the loops and, last, the offset.
Array<PrimExpr> linear(const PrimExpr& index, const std::vector<const For*>& loops, const Stmt& body) {
  Array<Var> vars;
  for (const For* loop : loops) vars.push_back(loop->loop_var);
  Array<PrimExpr> out = arith::detect_linear_equation(index, vars);
  if (out.empty()) throw not_a_copy(body, "the index " + to_text(index) + " is not linear in the loops");
  return out;
}

Buffer view(const Buffer& of, const Array<PrimExpr>& shape, const Array<PrimExpr>& strides, const PrimExpr& offset) {
  BufferNode node(*of.get());
  node.shape = shape;
  node.strides = strides;
  node.elem_offset = offset;
  return make(std::move(node));
}

Stmt inject(const Stmt& body, const PackedFunc& fintrin) {
  arith::Analyzer analyzer;
  Copy copy = match(body);
  Array<PrimExpr> target = linear(copy.store->indices[0], copy.loops, body);
  Array<PrimExpr> source = linear(copy.load->indices[0], copy.loops, body);
  Array<PrimExpr> target_shape, source_shape, target_strides, source_strides, pad_before, pad_after;
  PrimExpr target_offset = target[copy.loops.size()], source_offset = source[copy.loops.size()];
  Array<PrimExpr> clips;
  if (copy.condition) {
    Array<Var> vars;
    for (const For* loop : copy.loops) vars.push_back(loop->loop_var);
    clips = arith::detect_clip_bound(copy.condition, vars);
    if (clips.empty()) throw not_a_copy(body, "the condition " + to_text(copy.condition) + " is not one of ranges");
  }
  for (size_t i = 0; i < copy.loops.size(); ++i) {
    const For* loop = copy.loops[i];
    PrimExpr first = loop->min, end = loop->min + loop->extent;
    target_offset = target_offset + target[i] * loop->min;
    target_strides.push_back(target[i]);
    target_shape.push_back(loop->extent);
    if (copy.condition) {
      PrimExpr low = clips[2 * i] ? max(clips[2 * i], loop->min) : loop->min;
      PrimExpr high = clips[2 * i + 1] ? min(clips[2 * i + 1] + make_const(low.dtype(), 1), end) : end;
      pad_before.push_back(analyzer.simplify(low - loop->min));
      pad_after.push_back(analyzer.simplify(end - high));
      first = low;
      end = high;
    }
    source_offset = source_offset + source[i] * first;
    source_strides.push_back(source[i]);
    source_shape.push_back(analyzer.simplify(end - first));
  }
  if (copy.loops.empty()) {
    target_shape = source_shape = target_strides = source_strides = {make_const(target_offset.dtype(), 1)};
    if (copy.condition) throw not_a_copy(body, "a single element has a condition");
  }
  Buffer from = view(copy.load->buffer, source_shape, source_strides, analyzer.simplify(source_offset));
  Buffer to = view(copy.store->buffer, target_shape, target_strides, analyzer.simplify(target_offset));
  Stmt out = fintrin(from, to, pad_before, pad_after, copy.pad_value).to<Stmt>();
  if (!out) throw Error(ValueError) << "InjectCopyIntrin: the function gave no statement";
  return out;
}

}  // namespace

Stmt inject_copy_intrin(const Stmt& body, const String& pragma_key, const PackedFunc& fintrin) {
  String key = attr::kPragmaPrefix + pragma_key.str();
  return rewrite(body, [&](Rewriter& self, const AttrStmt* op) -> Stmt {
    return op->attr_key == key ? inject(op->body, fintrin) : Stmt(self.children(op));
  });
}

}  // namespace tessera
