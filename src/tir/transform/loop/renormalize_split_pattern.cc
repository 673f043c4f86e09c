// Indices and guards of split loops are brought to the form the simplifier works best on: common factors go out.

#include <numeric>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

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

/// Appends the terms of a sum, first to last.
void add_terms(const PrimExpr& e, std::vector<PrimExpr>* out) {
  auto* sum = e.as<Add>();
  if (!sum) return out->push_back(e);
  add_terms(sum->a, out);
  add_terms(sum->b, out);
}

/// x * c1 + y < c2  is  x * (c1 // g) + y // g < c2 // g  for g = gcd(c1, c2).
PrimExpr divide_guard(const PrimExpr& a, int64_t limit) {
  std::vector<PrimExpr> terms;
  add_terms(a, &terms);
  auto* product = terms[0].as<Mul>();
  const int64_t* factor = product ? as_int(product->b) : nullptr;
  if (!factor || *factor <= 1 || terms.size() < 2) return nullptr;
  int64_t common = std::gcd(*factor, limit);
  if (common <= 1) return nullptr;
  PrimExpr rest = terms[1];
  for (size_t i = 2; i < terms.size(); ++i) rest = rest + terms[i];
  DataType dtype = a.dtype();
  return product->a * make_const(dtype, *factor / common) + floordiv(rest, make_const(dtype, common)) <
         make_const(dtype, limit / common);
}

}  // namespace

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
  rewriter.on([&](Rewriter& self, const LT* op) -> PrimExpr {
    Ref<LT> out = self.children(op);
    const int64_t* limit = as_int(out->b);
    PrimExpr better = limit && *limit > 1 && out->a.dtype().lanes == 1 ? divide_guard(out->a, *limit) : nullptr;
    return better ? better : out;
  });
  return rewriter(body);
}

}  // namespace tessera
