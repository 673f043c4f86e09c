// Indices of split loops are brought to the form floordiv/floormod that the simplifier works best on.

#include "arith/analyzer.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

/// (y * c1 + x) // c2 with c2 a multiple of c1 is (y + x // c1) // (c2 // c1).
PrimExpr renormalize(const PrimExpr& a, int64_t divisor, arith::Analyzer& analyzer) {
  auto* sum = a.as<Add>();
  if (!sum) return nullptr;
  for (bool swapped : {false, true}) {
    const PrimExpr& scaled = swapped ? sum->b : sum->a;
    const PrimExpr& rest = swapped ? sum->a : sum->b;
    auto* product = scaled.as<Mul>();
    const int64_t* factor = product ? as_int(product->b) : nullptr;
    if (!factor || *factor <= 1 || divisor % *factor != 0) continue;
    PrimExpr inner = floordiv(rest, make_const(a.dtype(), *factor));
    PrimExpr outer = make_const(a.dtype(), divisor / *factor);
    return floordiv(product->a + analyzer.simplify(inner), outer);
  }
  return nullptr;
}

Stmt renormalize_split_pattern(const Stmt& body) {
  arith::Analyzer analyzer;
  Rewriter rewriter;
  rewriter.share_results(false);
  rewriter.on([&](Rewriter& self, const For* op) -> Stmt {
    analyzer.bind(op->loop_var, make_range(op->min, op->extent), true);
    return self.children(op);
  });
  rewriter.on([&](Rewriter& self, const AttrStmt* op) -> Stmt {
    if (auto* axis = op->node.as<IterVarNode>(); axis && op->attr_key == attr::kThreadExtent)
      analyzer.bind(axis->var, make_range(make_zero(op->value.dtype()), op->value), true);
    return self.children(op);
  });
  rewriter.on([&](Rewriter& self, const FloorDiv* op) -> PrimExpr {
    Ref<FloorDiv> out = self.children(op);
    const int64_t* divisor = as_int(out->b);
    PrimExpr better = divisor && *divisor > 1 ? renormalize(out->a, *divisor, analyzer) : nullptr;
    return better ? better : out;
  });
  return rewriter(body);
}

static Globals globals{
    {"tir.transform.RenormalizeSplitPattern",
     [] { return body_pass("tir.RenormalizeSplitPattern", renormalize_split_pattern); }},
};

}  // namespace
}  // namespace tessera
