// An attribute that neighbours share is said once, around all of them, and as far out as it holds.
//
//   attr k = 1: S;  attr k = 1: T       =>     attr k = 1: { S; T }
//   for i: attr k = 1: S                =>     attr k = 1: for i: S

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class Lifter {
 public:
  explicit Lifter(String key) : key_(std::move(key)) {
    rewriter_.share_results(false);
    rewriter_.on([this](const For* op) -> Stmt { return around(rewriter_.children(op), &For::body, op->loop_var); });
    rewriter_.on([this](const LetStmt* op) -> Stmt { return around(rewriter_.children(op), &LetStmt::body, op->var); });
    rewriter_.on(
        [this](const Allocate* op) -> Stmt { return around(rewriter_.children(op), &Allocate::body, op->buffer_var); });
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      Ref<AttrStmt> out = rewriter_.children(op);
      return op->attr_key == key_ ? Stmt(out) : around(out, &AttrStmt::body, Var());
    });
    rewriter_.on([this](const IfThenElse* op) -> Stmt { return on_branch(rewriter_.children(op)); });
    rewriter_.on([this](const SeqStmt* op) -> Stmt { return on_sequence(op); });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  const AttrStmt* marked(const Stmt& stmt) const {
    auto* attr = stmt.as<AttrStmt>();
    return attr && attr->attr_key == key_ ? attr : nullptr;
  }

  bool is_same(const AttrStmt* a, const AttrStmt* b) const {
    return a && b && a->node.same_as(b->node) && expr_equal(a->value, b->value);
  }

  /// The mark of the body goes around the whole, unless it says something about what the statement defines.
  template <class T>
  Stmt around(const Ref<T>& stmt, Stmt T::* body, const Var& defined) {
    const AttrStmt* attr = marked((*stmt.get()).*body);
    if (!attr || (defined && uses_var(attr->value, defined))) return stmt;
    return with(Ref<AttrStmt>(attr), &AttrStmt::body, Stmt(with(stmt, body, attr->body)));
  }

  Stmt on_branch(const Ref<IfThenElse>& branch) {
    const AttrStmt *yes = marked(branch->then_case), *no = branch->else_case ? marked(branch->else_case) : nullptr;
    if (!yes || (branch->else_case && !is_same(yes, no))) return branch;
    IfThenElse out(*branch.get());
    out.then_case = yes->body;
    if (no) out.else_case = no->body;
    return with(Ref<AttrStmt>(yes), &AttrStmt::body, Stmt(make(std::move(out))));
  }

  Stmt on_sequence(const SeqStmt* op) {
    std::vector<Stmt> out, group;
    Ref<AttrStmt> mark;
    auto close = [&] {
      if (mark) out.push_back(with(mark, &AttrStmt::body, sequence(group)));
      mark = {};
      group.clear();
    };
    for (const Stmt& part : op->seq) {
      Stmt now = rewriter_(part);
      const AttrStmt* attr = marked(now);
      if (mark && !is_same(mark.get(), attr)) close();
      if (attr) {
        if (!mark) mark = Ref<AttrStmt>(attr);
        group.push_back(attr->body);
      } else {
        out.push_back(now);
      }
    }
    close();
    return sequence(out);
  }

  String key_;
  Rewriter rewriter_;
};

}  // namespace

Stmt lift_attr_scope(const Stmt& body, const String& key) { return Lifter(key)(body); }

}  // namespace tessera
