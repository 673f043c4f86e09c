// Rejects programs with an access that is certain to lie outside its buffer.

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/loops/interval.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class Checker {
 public:
  Checker() {
    visitor_.share_results(false);
    visitor_.on([this](const For* op) -> Stmt {
      analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
      domains_[op->loop_var.get()] = loops::Interval::of(make_range(op->min, op->extent));
      return visitor_.children(op);
    });
    visitor_.on([this](const AttrStmt* op) -> Stmt {
      auto* axis = op->node.as<IterVarNode>();
      if (axis && op->attr_key == attr::kThreadExtent)
        domains_[axis->var.get()] = loops::Interval::of(make_range(make_zero(op->value.dtype()), op->value));
      return visitor_.children(op);
    });
    visitor_.on([this](const BlockRealize* op) -> Stmt {
      for (const IterVar& axis : op->block->iter_vars) {
        analyzer_.bind(axis->var, axis->dom, true);
        domains_[axis->var.get()] = loops::Interval::of(axis->dom);
      }
      visitor_(op->iter_values);
      under(op->predicate, [&] { visitor_(op->block); });
      return Stmt(op);
    });
    visitor_.on([this](const IfThenElse* op) -> Stmt {
      visitor_(op->condition);
      under(op->condition, [&] { visitor_(op->then_case); });
      if (op->else_case) under(logical_not(op->condition), [&] { visitor_(op->else_case); });
      return Stmt(op);
    });
    visitor_.on([this](const Call* op) -> PrimExpr {
      if (!is_call(op, "tir.if_then_else")) return visitor_.children(op);
      visitor_(op->args[0]);
      under(op->args[0], [&] { visitor_(op->args[1]); });
      under(logical_not(op->args[0]), [&] { visitor_(op->args[2]); });
      return PrimExpr(op);
    });
    visitor_.on([this](const BufferLoad* op) -> PrimExpr {
      check(op->buffer, op->indices, PrimExpr(op));
      return visitor_.children(op);
    });
    visitor_.on([this](const BufferStore* op) -> Stmt {
      check(op->buffer, op->indices, Stmt(op));
      return visitor_.children(op);
    });
  }

  std::vector<std::string> run(const Stmt& body) {
    visitor_(body);
    return found_;
  }

 private:
  template <class F>
  void under(const PrimExpr& condition, F visit) {
    if (is_one(condition)) return visit();
    auto scope = analyzer_.assume(condition);
    ++conditions_;
    visit();
    --conditions_;
  }

  /// Under a condition not every value is reached, so an index is wrong for certain only when all its values are; else
  /// it is when its least or greatest value is.
  void check(const Buffer& buffer, const Array<PrimExpr>& indices, const ObjectRef& where) {
    for (size_t i = 0; i < indices.size() && i < buffer->shape.size(); ++i) {
      loops::Interval values =
          conditions_ > 0 ? loops::Interval::point(indices[i]) : loops::eval_interval(indices[i], domains_, analyzer_);
      bool below = values.min && analyzer_.can_prove(values.min < make_zero(values.min.dtype()));
      bool beyond = values.max && analyzer_.can_prove(values.max >= buffer->shape[i]);
      if (!below && !beyond) continue;
      found_.push_back("axis " + std::to_string(i) + " of buffer " + buffer->name.str() + ", which has " +
                       to_text(buffer->shape[i]) + " elements, at " + to_text(indices[i]) + " in " + to_text(where));
    }
  }

  Rewriter visitor_;
  arith::Analyzer analyzer_;
  loops::VarIntervals domains_;
  int conditions_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

IRModule oob_checker(const IRModule& mod) {
  for (const auto& [var, function] : mod->functions) {
    PrimFunc program = downcast_or_null<PrimFunc>(function);
    std::vector<std::string> found = program ? Checker().run(program->body) : std::vector<std::string>();
    if (found.empty()) continue;
    std::string list;
    for (const std::string& each : found) list += "\n    " + each;
    throw Error(ScheduleError) << "the program contains out-of-bounds memory access: " << var->name_hint << list;
  }
  return mod;
}

}  // namespace tessera
