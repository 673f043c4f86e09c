// Statements without effect disappear: empty loops and branches, pure evaluations, skipped regions.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/flat_sequence.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// What is left of values no longer needed: their effects.
Stmt effects_of(std::initializer_list<PrimExpr> values) {
  std::vector<Stmt> out;
  for (const PrimExpr& value : values)
    if (value && side_effect(value) > CallEffect::ReadState) out.push_back(evaluate(value));
  return sequence(out);
}

}  // namespace

Stmt remove_no_op(const Stmt& root) {
  Rewriter rewriter;
  rewriter.on([](Rewriter& self, const LetStmt* op) -> Stmt {
    Ref<LetStmt> out = self.children(op);
    return is_nop(out->body) ? effects_of({op->value}) : out;
  });
  rewriter.on([](Rewriter& self, const AttrStmt* op) -> Stmt {
    if (op->attr_key == attr::kPragmaDebugSkipRegion) return make_nop();
    Ref<AttrStmt> out = self.children(op);
    return is_nop(out->body) ? effects_of({op->value}) : out;
  });
  rewriter.on([](Rewriter& self, const IfThenElse* op) -> Stmt {
    Ref<IfThenElse> out = self.children(op);
    bool no_else = !out->else_case || is_nop(out->else_case);
    if (is_nop(out->then_case) && no_else) return effects_of({op->condition});
    if (is_nop(out->then_case))
      return make(IfThenElse{.condition = logical_not(out->condition), .then_case = out->else_case});
    return no_else ? with(out, &IfThenElse::else_case, Stmt()) : out;
  });
  rewriter.on([](Rewriter& self, const For* op) -> Stmt {
    Ref<For> out = self.children(op);
    if (is_zero(op->extent)) return make_nop();
    return is_nop(out->body) ? effects_of({op->min, op->extent}) : out;
  });
  rewriter.on([](Rewriter& self, const Allocate* op) -> Stmt {
    Ref<Allocate> out = self.children(op);
    return is_nop(out->body) ? effects_of({op->condition}) : out;
  });
  rewriter.on([](Rewriter& self, const BufferRealize* op) -> Stmt {
    Ref<BufferRealize> out = self.children(op);
    return is_nop(out->body) ? out->body : out;
  });
  rewriter.on([](const Evaluate* op) -> Stmt {
    return side_effect(op->value) > CallEffect::ReadState ? Stmt(op) : make_nop();
  });
  rewriter.on(flat_sequence);
  return rewriter(root);
}

}  // namespace tessera
