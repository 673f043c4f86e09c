// SimplifyInference: operators that only differ while training are written as the arithmetic they are.
//
//   nn.batch_norm(%x, %gamma, %beta, %mean, %var).0    =>    %x * scale + shift
//   nn.dropout(%x).0                                   =>    %x
//
// Operators say so themselves (the slot kInferenceForm).

#include "ir/rewrite.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

/// What the operator says the call is when nothing is trained; null where it is what it was.
Expr inference_form(const Call* before, const Array<Expr>& args) {
  auto* op = before ? before->op.as<OpNode>() : nullptr;
  Any form = op ? Op(op).slot(kInferenceForm) : Any();
  if (form.is_null()) return nullptr;
  Any out = form.to<PackedFunc>()(Expr(before), args);
  return out.is_null() ? nullptr : out.to<Expr>();
}

}  // namespace

Expr simplify_inference(const Expr& root) {
  Rewriter rewriter;
  rewriter.on([](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    Expr simple = call->checked_type_.as<TupleType>() ? nullptr : inference_form(call, post->args);
    return simple ? simple : Expr(post);
  });
  rewriter.on([](Rewriter& self, const TupleGetItem* get) -> Expr {
    Ref<TupleGetItem> post = self.children(get);
    auto* before = get->tuple.as<Call>();
    auto* after = post->tuple.as<Call>();
    Expr simple = get->index == 0 && after ? inference_form(before, after->args) : nullptr;
    return simple ? simple : Expr(post);
  });
  return rewriter(root);
}

}  // namespace tessera::relay
