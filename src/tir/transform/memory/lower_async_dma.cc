// Copies that a pipeline lets run on their own become orders to a DMA engine.
//
//   attr async_commit_queue_scope q: for i in n: D[a + i] = S[b + i]    =>    dma_copy(q, &D[a], &S[b], bytes)
//   attr async_wait_queue_scope q, async_wait_inflight_count n: S       =>    dma_wait(q, n); S
//
// A copy is one loop, or one store of a vector, of neighbouring elements on both sides. A queue with anything else in it, or
// with copies to shared memory (InjectPTXAsyncCopy's), stays as it is: the CPU does what it says at once.

#include <map>

#include "arith/analyzer.h"
#include "arith/linear.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/flat_sequence.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

PrimExpr address(const Buffer& buffer, const PrimExpr& first) {
  return make_call(DataType::Handle(), builtin::address_of(), {make_load(buffer, {first})});
}

class DmaLowerer {
 public:
  DmaLowerer() {
    rewriter_.share_results(false);
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      bool is_ours = is_queue(op) && queues_[number(op)];
      if (is_ours && op->attr_key == attr::kAsyncCommitQueueScope) return copy_of(op);
      if (is_ours && op->attr_key == attr::kAsyncWaitQueueScope) return wait(op);
      return rewriter_.children(op);
    });
    rewriter_.on(flat_sequence);
  }

  Stmt operator()(const Stmt& body) {
    walk(body, [&](const AttrStmt* op) {
      if (op->attr_key != attr::kAsyncCommitQueueScope || !is_queue(op)) return;
      auto [queue, is_new] = queues_.try_emplace(number(op), true);
      queue->second = queue->second && copy_of(op).defined();
    });
    return rewriter_(body);
  }

 private:
  static bool is_queue(const AttrStmt* op) { return op->value.as<IntImm>() != nullptr; }
  static int64_t number(const AttrStmt* op) { return *as_int(op->value); }

  Stmt wait(const AttrStmt* op) {
    auto* count = op->body.as<AttrStmt>();
    if (!count || count->attr_key != attr::kAsyncWaitInflightCount)
      throw Error(ValueError) << attr::kAsyncWaitQueueScope << " has to be followed by "
                              << attr::kAsyncWaitInflightCount;
    Stmt call = evaluate(make_call(DataType::Int(32), builtin::dma_wait(), {op->value, count->value}));
    return sequence({call, rewriter_(count->body)});
  }

  /// The order for what is committed; empty where that is no copy.
  Stmt copy_of(const AttrStmt* op) {
    const Stmt* at = &op->body;
    while (auto* mark = at->as<AttrStmt>()) {
      if (mark->attr_key != attr::kAsyncScope) break;
      at = &mark->body;
    }
    auto* loop = at->as<For>();
    auto* store = (loop ? loop->body : *at).as<BufferStore>();
    auto* load = store ? store->value.as<BufferLoad>() : nullptr;
    if (!load || load->indices.size() != 1 || store->indices.size() != 1) return nullptr;
    if (load->buffer->dtype != store->buffer->dtype || store->buffer->scope().starts_with("shared")) return nullptr;
    PrimExpr target = first_of(store->indices[0], loop), source = first_of(load->indices[0], loop);
    if (!target || !source) return nullptr;
    PrimExpr count = loop ? loop->extent : make_const(target.dtype(), load->dtype.lanes);
    PrimExpr bytes = analyzer_.simplify(count * make_const(count.dtype(), load->buffer->dtype.bytes()));
    return evaluate(make_call(DataType::Int(32), builtin::dma_copy(),
                              {op->value, address(store->buffer, target), address(load->buffer, source), bytes}));
  }

  /// Where an access of neighbours begins, over the loop or by a vector; empty for any other.
  PrimExpr first_of(const PrimExpr& index, const For* loop) {
    if (!loop) {
      auto* ramp = index.as<Ramp>();
      return index.dtype().lanes == 1 ? index : ramp && is_one(ramp->stride) ? ramp->base : PrimExpr();
    }
    if (index.dtype().lanes != 1) return nullptr;
    Array<PrimExpr> linear = arith::detect_linear_equation(index, {loop->loop_var});
    if (linear.empty() || !is_one(linear[0])) return nullptr;
    return analyzer_.simplify(linear[1] + loop->min);
  }

  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::map<int64_t, bool> queues_;  // by number: whether all that is committed to it are copies
};

}  // namespace

Stmt lower_async_dma(const Stmt& body) { return DmaLowerer()(body); }

}  // namespace tessera
