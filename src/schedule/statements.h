#pragma once
// Walking the statements of a program without its expressions.

#include <vector>

#include "tir/stmt.h"

namespace tessera::schedule {

/// Calls `visit(const Stmt&)` on each statement directly inside `stmt`, in the order of the program.
template <class F>
void for_each_inner(const StmtNode* stmt, const F& visit) {
  auto one = [&]<class T>(const T* node) { visit(node->body); };
  if (auto* loop = cast_or_null<For>(stmt)) return one(loop);
  if (auto* realize = cast_or_null<BlockRealize>(stmt)) {
    if (realize->block->init) visit(realize->block->init);
    return one(realize->block.get());
  }
  if (auto* seq = cast_or_null<SeqStmt>(stmt)) {
    for (const Stmt& part : seq->seq) visit(part);
    return;
  }
  if (auto* choice = cast_or_null<IfThenElse>(stmt)) {
    visit(choice->then_case);
    if (choice->else_case) visit(choice->else_case);
    return;
  }
  if (auto* let = cast_or_null<LetStmt>(stmt)) return one(let);
  if (auto* attr = cast_or_null<AttrStmt>(stmt)) return one(attr);
  if (auto* loop = cast_or_null<While>(stmt)) return one(loop);
  if (auto* check = cast_or_null<AssertStmt>(stmt)) return one(check);
  if (auto* allocate = cast_or_null<Allocate>(stmt)) return one(allocate);
  if (auto* constant = cast_or_null<AllocateConst>(stmt)) return one(constant);
  if (auto* declare = cast_or_null<DeclBuffer>(stmt)) return one(declare);
}

/// The statements from some root down to one inside it; the root keeps them alive.
using Path = std::vector<const StmtNode*>;

/// Calls `visit(const Path&)` on every statement, those around before those inside; goes inside where it returns true.
template <class F>
void descend(Path& path, const F& visit) {
  if (!visit(path)) return;
  for_each_inner(path.back(), [&](const Stmt& child) {
    path.push_back(child.get());
    descend(path, visit);
    path.pop_back();
  });
}
template <class F>
void visit_statements(const Stmt& root, const F& visit) {
  Path path{root.get()};
  descend(path, visit);
}

/// Calls `visit(const BlockNode*)` on every outermost block of `stmt`, in the order of the program.
template <class F>
void for_each_block(const Stmt& stmt, const F& visit) {
  if (auto* realize = stmt.as<BlockRealize>()) return visit(realize->block.get());
  for_each_inner(stmt.get(), [&](const Stmt& child) { for_each_block(child, visit); });
}

}  // namespace tessera::schedule
