#include "topi/gpu/float32.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/stmt.h"

namespace tessera::topi {

bool is_narrow(DataType dtype) { return dtype.is_floating() && dtype.bits == 16; }

DataType sum_type(DataType dtype) { return is_narrow(dtype) ? DataType::Float(32) : dtype; }

std::optional<PrimExpr> in_float32(const PrimExpr& value, const std::function<PrimExpr(const PrimExpr&)>& replace) {
  bool fits = true;
  const DataType wide = DataType::Float(32);
  Rewriter widen(
      [&](Rewriter&, const BufferLoad* load) -> PrimExpr {
        if (PrimExpr other = replace(PrimExpr(load))) return other;
        return is_narrow(load->dtype) ? cast(wide, PrimExpr(load)) : PrimExpr(load);
      },
      [&](Rewriter& self, const Cast* op) -> PrimExpr {
        const DataType target = is_narrow(op->dtype) ? wide : op->dtype;
        const PrimExpr inner = self(op->value);
        return inner.dtype() == target ? inner : cast(target, inner);
      },
      [&](Rewriter&, const FloatImm* op) -> PrimExpr {
        return is_narrow(op->dtype) ? make_const(wide, op->value) : PrimExpr(op);
      },
      [](Rewriter& self, const Add* op) -> PrimExpr { return self(op->a) + self(op->b); },
      [](Rewriter& self, const Sub* op) -> PrimExpr { return self(op->a) - self(op->b); },
      [](Rewriter& self, const Mul* op) -> PrimExpr { return self(op->a) * self(op->b); },
      [](Rewriter& self, const Div* op) -> PrimExpr { return div(self(op->a), self(op->b)); },
      [](Rewriter& self, const Max* op) -> PrimExpr { return max(self(op->a), self(op->b)); },
      [](Rewriter& self, const Min* op) -> PrimExpr { return min(self(op->a), self(op->b)); },
      [&](Rewriter& self, const Select* op) -> PrimExpr {
        if (PrimExpr other = replace(PrimExpr(op))) return other;
        return select(self(op->condition), self(op->true_value), self(op->false_value));
      },
      [&](Rewriter& self, const Call* op) -> PrimExpr {
        if (PrimExpr other = replace(PrimExpr(op))) return other;
        if (builtin::is(op, builtin::if_then_else()))
          return if_then_else(self(op->args[0]), self(op->args[1]), self(op->args[2]));
        if (!is_narrow(op->dtype)) return self.children(op);
        auto* callee = op->op.as<OpNode>();
        fits = fits && callee && op->args.size() == 1;
        return fits ? make_call(wide, callee->name, {self(op->args[0])}) : PrimExpr(op);
      });
  const PrimExpr out = widen(value);
  return fits && out.dtype() == wide ? std::optional(out) : std::nullopt;
}

}  // namespace tessera::topi
