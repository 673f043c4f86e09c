// An index from data that does not change in a loop is checked once, before the loop.
//
//   for j in range(768): B[i*768 + j] = A[checked_index(I[i], n, "...")*768 + j]
//     =>   let at = checked_index(I[i], n, "..."): for j in range(768): B[i*768 + j] = A[at*768 + j]
//
// The check is a branch with a call behind it, which LLVM moves out of no loop. It leaves loops that surely run, from where
// nothing guards it, when nothing in the loop writes what it reads.

#include <algorithm>
#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "tir/analysis/checked_index_texts.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool surely_runs(const For* loop) {
  const int64_t* extent = as_int(loop->extent);
  return extent && *extent > 0;
}

/// The checks that an iteration of a loop does whatever it finds, and what the iteration writes.
class Iteration {
 public:
  explicit Iteration(const For* loop) {
    defined_.insert(loop->loop_var.get());
    visitor_.share_results(false);
    visitor_.on([this](const Call* op) -> PrimExpr { return on_call(op); });
    visitor_.on([this](const Select* op) -> PrimExpr { return visitor_(op->condition), PrimExpr(op); });
    visitor_.on([this](const And* op) -> PrimExpr { return visitor_(op->a), PrimExpr(op); });
    visitor_.on([this](const Or* op) -> PrimExpr { return visitor_(op->a), PrimExpr(op); });
    visitor_.on([this](const Let* op) -> PrimExpr { return defined_.insert(op->var.get()), visitor_.children(op); });
    visitor_.on([this](const LetStmt* op) -> Stmt { return defined_.insert(op->var.get()), visitor_.children(op); });
    visitor_.on(
        [this](const Allocate* op) -> Stmt { return defined_.insert(op->buffer_var.get()), visitor_.children(op); });
    visitor_.on([this](const IfThenElse* op) -> Stmt { return visitor_(op->condition), Stmt(op); });
    visitor_.on([](const While* op) -> Stmt { return Stmt(op); });
    visitor_.on([this](const For* op) -> Stmt {
      defined_.insert(op->loop_var.get());
      return surely_runs(op) ? Stmt(visitor_.children(op)) : Stmt(op);
    });
    visitor_(loop->body);
    walk(
        loop->body, [this](const BufferStore* op) { written_.insert(op->buffer->data.get()); },
        [this](const Call* op) { writes_anything_ |= builtin::effect_of(op) > CallEffect::ReadState; });
  }

  std::vector<PrimExpr> can_leave() const {
    std::vector<PrimExpr> out;
    for (const PrimExpr& check : checks_)
      if (!writes_anything_ && !depends_on_iteration(check) &&
          std::none_of(out.begin(), out.end(), [&](const PrimExpr& other) { return expr_equal(other, check); }))
        out.push_back(check);
    return out;
  }

 private:
  PrimExpr on_call(const Call* op) {
    if (builtin::is(op, builtin::if_then_else())) return visitor_(op->args[0]), PrimExpr(op);
    if (is_call(op, "tir.checked_index")) checks_.push_back(PrimExpr(op));
    return visitor_.children(op);
  }

  bool depends_on_iteration(const PrimExpr& check) const {
    bool depends = uses_var(check, [this](const VarNode* var) { return defined_.count(var) > 0; });
    walk(check, [&](const BufferLoad* load) {
      depends |= written_.count(load->buffer->data.get()) > 0 || defined_.count(load->buffer->data.get()) > 0;
    });
    return depends;
  }

  Rewriter visitor_;
  std::unordered_set<const VarNode*> defined_, written_;
  std::vector<PrimExpr> checks_;
  bool writes_anything_ = false;
};

Stmt before_loop(const Ref<For>& loop) {
  if (!surely_runs(loop.get())) return loop;
  std::vector<PrimExpr> checks = Iteration(loop.get()).can_leave();
  if (checks.empty()) return loop;
  std::vector<Var> vars;
  for (const PrimExpr& check : checks) vars.push_back(make_var("at", check.dtype()));
  Stmt out = rewrite(Stmt(loop), [&](Rewriter& self, const Call* op) -> PrimExpr {
    for (size_t i = 0; i < checks.size() && is_call(op, "tir.checked_index"); ++i)
      if (expr_equal(checks[i], PrimExpr(op))) return vars[i];
    return self.children(op);
  });
  for (size_t i = checks.size(); i-- > 0;) out = make(LetStmt{.var = vars[i], .value = checks[i], .body = out});
  return out;
}

}  // namespace

Stmt hoist_checked_index(const Stmt& body) {
  if (checked_index_texts(body).empty()) return body;
  return rewrite(body,
                 [](Rewriter& self, const For* loop) -> Stmt { return before_loop(Ref<For>(self.children(loop))); });
}

}  // namespace tessera
