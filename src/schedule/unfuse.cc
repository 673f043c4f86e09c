#include "schedule/unfuse.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::schedule {
namespace {

/// The divisor by which all values take the loop apart; empty when they use it in another way.
PrimExpr divisor_of(const Array<PrimExpr>& values, const Var& var) {
  PrimExpr divisor;
  bool is_one_way = true;
  auto part = [&](Rewriter& self, const auto* node) -> PrimExpr {
    if (!node->a.same_as(var)) return self.children(node);
    if (!divisor) divisor = node->b;
    is_one_way &= expr_equal(divisor, node->b);
    return node->b;
  };
  for (const PrimExpr& value : values)
    rewrite(
        value, [&](Rewriter& self, const FloorDiv* node) -> PrimExpr { return part(self, node); },
        [&](Rewriter& self, const FloorMod* node) -> PrimExpr { return part(self, node); },
        [&](const VarNode* other) -> PrimExpr {
          is_one_way &= other != var.get();
          return PrimExpr(other);
        });
  return is_one_way && divisor && !as_int(divisor) ? divisor : PrimExpr();
}

}  // namespace

Unfused unfuse(const Array<PrimExpr>& values, const Map<Var, Range>& domains) {
  Unfused out{values, {}};
  for (const auto& [var, range] : domains) {
    auto* length = range->extent.as<Mul>();
    PrimExpr divisor = length && is_zero(range->min) ? divisor_of(out.values, var) : PrimExpr();
    PrimExpr rest;
    if (divisor && expr_equal(length->b, divisor)) rest = length->a;
    else if (divisor && expr_equal(length->a, divisor)) rest = length->b;
    if (!rest) {
      out.domains.set(var, range);
      continue;
    }
    Var high = make_var(var->name + "_hi", var->dtype), low = make_var(var->name + "_lo", var->dtype);
    out.domains.set(high, make_range(range->min, rest));
    out.domains.set(low, make_range(range->min, divisor));
    Array<PrimExpr> replaced;
    for (const PrimExpr& value : out.values)
      replaced.push_back(rewrite(
          value,
          [&, &var = var](Rewriter& self, const FloorDiv* node) -> PrimExpr {
            return node->a.same_as(var) ? PrimExpr(high) : PrimExpr(self.children(node));
          },
          [&, &var = var](Rewriter& self, const FloorMod* node) -> PrimExpr {
            return node->a.same_as(var) ? PrimExpr(low) : PrimExpr(self.children(node));
          }));
    out.values = replaced;
  }
  return out;
}

}  // namespace tessera::schedule
