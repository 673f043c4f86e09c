// Stores of undefined values disappear.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool is_undefined(const PrimExpr& value) {
  bool found = false;
  walk(value, [&](const Call* call) { found = found || is_call(call, "tir.undef"); });
  return found;
}

}  // namespace

/// A store of what depends on undef() allows any value, so also the one that is there. A `let` of one is followed to its uses.
Stmt remove_store_undef(const Stmt& body) {
  Map<Var, PrimExpr> lets;
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const LetStmt* op) -> Stmt {
    if (!is_undefined(op->value)) return self.children(op);
    lets.set(op->var, op->value);
    return self(op->body);
  });
  rewriter.on([&](const VarNode* op) -> PrimExpr {
    PrimExpr value = lets.get_or_null(Var(op));
    return value ? value : PrimExpr(op);
  });
  rewriter.on([](Rewriter& self, const BufferStore* op) -> Stmt {
    Ref<BufferStore> out = self.children(op);
    for (const PrimExpr& index : out->indices)
      if (is_undefined(index))
        throw Error(RuntimeError) << "RemoveStoreUndef: an index of " << op->buffer->name
                                  << " depends on undef(): " << index;
    return is_undefined(out->value) ? make_nop() : Stmt(out);
  });
  Stmt out = rewriter(body);
  walk(out, [](const Call* call) {
    if (is_call(call, "tir.undef"))
      throw Error(RuntimeError) << "RemoveStoreUndef: undef() is used elsewhere than as the value of a store";
  });
  return out;
}

}  // namespace tessera
