// A store of memory whose bounds were noted ("buffer_bound") happens only where all its indices are inside.
//
//   C[i] = A[i] + B[i]     =>     if inside: C[i] = A[i] + B[i]  else: assert inside, "OUT OF THE BOUNDS"

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class BoundInstrument {
 public:
  BoundInstrument() {
    rewriter_.share_results(false);
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      auto* memory = op->node.as<VarNode>();
      if (op->attr_key == attr::kBufferBound && memory) bounds_[memory] = op->value.as<Call>()->args[0];
      return rewriter_.children(op);
    });
    rewriter_.on([this](const BufferStore* op) -> Stmt { return on_store(op); });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  void check(const Buffer& buffer, const Array<PrimExpr>& indices) {
    auto bound = bounds_.find(buffer->data.get());
    if (bound == bounds_.end() || indices.size() != 1) return;
    PrimExpr low = indices[0], high = indices[0];
    if (auto* ramp = low.as<Ramp>()) {
      low = ramp->base;
      high = ramp->base + ramp->stride * make_const(ramp->base.dtype(), ramp->lanes - 1);
    }
    if (low.dtype().lanes > 1) return;  // a gathered index is checked by no constant expression
    PrimExpr here = logical_and(make_cast(kInt64, low) >= make_zero(kInt64),
                                make_cast(kInt64, high) < make_cast(kInt64, bound->second));
    condition_ = condition_ ? logical_and(condition_, here) : here;
  }

  Stmt on_store(const BufferStore* op) {
    condition_ = nullptr;
    check(op->buffer, op->indices);
    walk(op->value, [this](const BufferLoad* load) { check(load->buffer, load->indices); });
    if (!condition_) return Stmt(op);
    Stmt failure = make(
        AssertStmt{.condition = condition_, .message = string_imm("OUT OF THE BOUNDS"), .body = evaluate(PrimExpr(1))});
    return make(IfThenElse{.condition = condition_, .then_case = Stmt(op), .else_case = failure});
  }

  Rewriter rewriter_;
  std::unordered_map<const VarNode*, PrimExpr> bounds_;
  PrimExpr condition_;
};

}  // namespace

Stmt instrument_bound_checkers(const Stmt& body) { return BoundInstrument()(body); }

}  // namespace tessera
