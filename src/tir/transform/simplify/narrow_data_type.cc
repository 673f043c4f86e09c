// Index arithmetic in int64 that is known to fit fewer bits is done in those.
//
// Loop variables of constant range and the indices of buffers are narrowed; what may not fit stays as it is.

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class Narrower {
 public:
  explicit Narrower(int bits) : narrow_(DataType::Int(bits)), limit_((int64_t(1) << (bits - 1)) - 1) {
    rewriter_.share_results(false);
    rewriter_.on([this](const For* op) -> Stmt { return on_loop(op); });
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      if (auto* axis = op->node.as<IterVarNode>(); axis && op->attr_key == attr::kThreadExtent)
        analyzer_.bind(axis->var, make_range(make_zero(op->value.dtype()), op->value), true);
      return rewriter_.children(op);
    });
    rewriter_.on([this](const BufferLoad* op) -> PrimExpr { return make_load(op->buffer, indices(op->indices)); });
    rewriter_.on([this](const BufferStore* op) -> Stmt {
      return make(BufferStore{.buffer = op->buffer, .value = rewriter_(op->value), .indices = indices(op->indices)});
    });
    rewriter_.on([this](const VarNode* var) -> PrimExpr {
      auto it = loops_.find(var);
      return it == loops_.end() ? PrimExpr(var) : make_cast(DataType::Int(64), it->second);
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  bool is_wide(DataType dtype) const { return dtype.is_int() && dtype.bits > narrow_.bits; }
  bool fits(const PrimExpr& e) { return analyzer_.const_int_bound(e).within(-limit_ - 1, limit_); }

  Stmt on_loop(const For* op) {
    PrimExpr min = rewriter_(op->min), extent = rewriter_(op->extent);
    For out(*op);
    bool narrows = is_wide(op->loop_var->dtype) && fits(min) && fits(min + extent);
    if (narrows) {
      PrimExpr narrow_min = narrowed(min), narrow_extent = narrowed(extent);
      if ((narrows = narrow_min && narrow_extent)) {
        Var var = make_var(op->loop_var->name, narrow_);
        loops_[op->loop_var.get()] = var;
        out.loop_var = var;
        min = narrow_min;
        extent = narrow_extent;
      }
    }
    out.min = min;
    out.extent = extent;
    analyzer_.bind(out.loop_var, make_range(min, extent), true);
    out.body = rewriter_(op->body);
    return make(std::move(out));
  }

  Array<PrimExpr> indices(const Array<PrimExpr>& old) {
    Array<PrimExpr> out;
    for (const PrimExpr& index : rewriter_(old)) {
      PrimExpr narrow = index.dtype().lanes == 1 && is_wide(index.dtype()) ? narrowed(index) : nullptr;
      out.push_back(narrow ? narrow : index);
    }
    return out;
  }

  /// `e` in narrow arithmetic, or empty when that might overflow on the way or there is no such form.
  PrimExpr narrowed(const PrimExpr& e) {
    if (!is_wide(e.dtype())) return e.dtype() == narrow_ ? e : nullptr;
    if (!fits(e)) return nullptr;
    if (auto* number = e.as<IntImm>()) return int_imm(narrow_, number->value);
    if (auto* widened = e.as<Cast>()) return widened->value.dtype() == narrow_ ? widened->value : nullptr;
    auto* op = e.as<BinaryNode>();
    if (!op) return nullptr;
    PrimExpr a = narrowed(op->a), b = narrowed(op->b);
    if (!a || !b) return nullptr;
    if (e.as<Add>()) return a + b;
    if (e.as<Sub>()) return a - b;
    if (e.as<Mul>()) return a * b;
    if (e.as<FloorDiv>()) return floordiv(a, b);
    if (e.as<FloorMod>()) return floormod(a, b);
    if (e.as<Min>()) return min(a, b);
    if (e.as<Max>()) return max(a, b);
    return nullptr;
  }

  DataType narrow_;
  int64_t limit_;
  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, Var> loops_;
};

}  // namespace

Pass narrow_data_type_pass(int bits) {
  if (bits != 16 && bits != 32) throw Error(ValueError) << "NarrowDataType: bits has to be 16 or 32, got " << bits;
  return pass_over<Stmt>(narrow_data_type_pass, [bits](const Stmt& body) { return Narrower(bits)(body); });
}

}  // namespace tessera
