// Equal calls of tvm_thread_context (handles that a coprocessor's code asks for again and again) are made once, around
// the region that uses them.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {

PrimFunc combine_context_call(const PrimFunc& function) {
  std::vector<std::pair<Var, PrimExpr>> contexts;
  Stmt body = rewrite(function->body, [&](Rewriter& self, const Call* op) -> PrimExpr {
    if (!builtin::is(op, builtin::tvm_thread_context())) return self.children(op);
    for (const auto& [var, known] : contexts)
      if (to_text(known) == to_text(PrimExpr(op))) return var;
    contexts.push_back({make_var("ctx_cache_", op->dtype), PrimExpr(op)});
    return contexts.back().first;
  });
  for (size_t i = contexts.size(); i-- > 0;)
    body = make(LetStmt{.var = contexts[i].first, .value = contexts[i].second, .body = body});
  return with_body(function, body);
}

}  // namespace tessera
