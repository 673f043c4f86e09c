// Copies from global to shared memory in an async_scope become cp.async instructions, which run while the threads go on.
//
//   attr commit_queue: attr async_scope: S[i] = G[j]    =>    cp.async(&S[i], &G[j], bytes); commit_group()
//   attr wait_queue, inflight n: use(S)                 =>    wait_group(n); barrier; use(S)
//
// A thread waits for its own copies only, so a barrier follows. What is no such copy, or not of 4, 8 or 16 bytes, stays a
// plain store. Programs for devices without cp.async do not run this pass: the attributes then mean nothing.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// Where an access of neighbouring elements begins; empty for other vectors.
PrimExpr first_element(const PrimExpr& index) {
  if (index.dtype().lanes == 1) return index;
  auto* ramp = index.as<Ramp>();
  return ramp && is_one(ramp->stride) ? ramp->base : PrimExpr();
}

Stmt async_copy(const BufferStore* store) {
  auto* load = store->value.as<BufferLoad>();
  if (!load || store->indices.size() != 1 || load->indices.size() != 1) return Stmt(store);
  std::string from = load->buffer->scope(), to = store->buffer->scope();
  if (!(from.empty() || from == "global") || !to.starts_with("shared")) return Stmt(store);
  int64_t bytes = int64_t{load->dtype.bits} * load->dtype.lanes / 8;
  PrimExpr source = first_element(load->indices[0]), target = first_element(store->indices[0]);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || !source || !target) return Stmt(store);
  return evaluate(
      make_call(store->buffer->dtype, "tir.ptx_cp_async",
                {store->buffer->data, target, load->buffer->data, source, make_const(DataType::Int(32), bytes)}));
}

}  // namespace

Stmt inject_ptx_async_copy(const Stmt& body) {
  int scopes = 0;
  Rewriter rewriter;
  rewriter.share_results(false);
  rewriter.on([&](Rewriter& self, const AttrStmt* op) -> Stmt {
    if (op->attr_key == attr::kAsyncScope) {
      ++scopes;
      Stmt out = self(op->body);
      --scopes;
      return out;
    }
    if (op->attr_key == attr::kAsyncCommitQueueScope)
      return sequence({self(op->body), evaluate(make_call(DataType::Void(), "tir.ptx_commit_group", {}))});
    if (op->attr_key == attr::kAsyncWaitQueueScope) {
      auto* count = op->body.as<AttrStmt>();
      if (!count || count->attr_key != attr::kAsyncWaitInflightCount)
        throw Error(ValueError) << attr::kAsyncWaitQueueScope << " has to be followed by "
                                << attr::kAsyncWaitInflightCount;
      return sequence({evaluate(make_call(DataType::Void(), "tir.ptx_wait_group", {count->value})),
                       evaluate(make_call(DataType::Int(32), "tir.tvm_storage_sync", {string_imm("shared")})),
                       self(count->body)});
    }
    return self.children(op);
  });
  rewriter.on([&](Rewriter& self, const BufferStore* op) -> Stmt {
    return scopes > 0 ? async_copy(op) : Stmt(self.children(op));
  });
  return rewriter(body);
}

}  // namespace tessera
