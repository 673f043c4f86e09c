#include "topi/gpu/own_statements.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/gpu/ordered/device_sort.h"

namespace tessera::topi {
namespace {

/// Blocks, and nests of rules, have their threads.
bool has_threads(const Stmt& stmt) {
  bool found = false;
  walk(
      stmt, [&](const BlockRealize*) { found = true; },
      [&](const For* loop) { found = found || loop->kind == LoopKind::ThreadBinding; });
  return found;
}

void reject_host_calls(const Stmt& stmt) {
  walk(stmt, [&](const Call* call) {
    if (!call->op.same_as(builtin::tvm_call_packed())) return;
    auto* name = call->args.empty() ? nullptr : call->args[0].as<StringImm>();
    throw Error(NotImplementedError) << "a kernel calls " << (name ? name->value.str() : "a packed function")
                                     << ", which runs on the host; the operator cannot be compiled for this target";
  });
}

/// Inside a kernel there are no threads of the host.
Stmt without_parallel(const Stmt& stmt) {
  return rewrite(stmt, [](Rewriter& self, const For* loop) -> Stmt {
    For out(*loop);
    out.body = self(loop->body);
    if (out.kind == LoopKind::Parallel) out.kind = LoopKind::Serial;
    return make(std::move(out));
  });
}

/// A function of the host called for whole tensors, as libraries for devices are. It gets tensors of the device.
bool is_host_call(const Stmt& stmt) {
  auto* evaluate = stmt.as<Evaluate>();
  auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && call->op.same_as(builtin::tvm_call_packed());
}

Stmt bound(For loop, const char* thread) {
  loop.kind = LoopKind::ThreadBinding;
  loop.thread_binding = make_iter_var(Range(), make_var(thread), IterType::ThreadIndex, thread);
  return make(std::move(loop));
}

Stmt bind(const Stmt& stmt, const GpuMachine& machine) {
  if (auto* seq = stmt.as<SeqStmt>()) {
    Array<Stmt> parts;
    for (const Stmt& part : seq->seq) parts.push_back(bind(part, machine));
    return with(seq, &SeqStmt::seq, parts);
  }
  if (auto* realize = stmt.as<BlockRealize>(); realize && realize->block->iter_vars.empty()) {
    Block block = with(realize->block, &BlockNode::body, bind(realize->block->body, machine));
    return with(realize, &BlockRealize::block, block);
  }
  if (has_threads(stmt)) return stmt;
  if (is_host_call(stmt)) {
    Stmt kernels = device_sort(stmt, machine);
    return kernels ? kernels : stmt;
  }
  reject_host_calls(stmt);
  if (auto* loop = stmt.as<For>(); loop && loop->kind == LoopKind::Parallel) {
    For out(*loop);
    out.body = without_parallel(loop->body);
    return bound(std::move(out), "blockIdx.x");
  }
  return bound(For{.loop_var = make_var("u"), .min = 0, .extent = 1, .body = without_parallel(stmt)}, "threadIdx.x");
}

}  // namespace

bool has_own_statements(const schedule::Cursor& block) { return block.block()->iter_vars.empty(); }

PrimFunc bind_own_statements(const PrimFunc& function, const GpuMachine& machine) {
  auto* root = function->body.as<BlockRealize>();
  if (!root) return function;
  Block block = with(root->block, &BlockNode::body, bind(root->block->body, machine));
  return with_body(function, with(root, &BlockRealize::block, block));
}

}  // namespace tessera::topi
