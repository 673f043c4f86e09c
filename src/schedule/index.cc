#include "schedule/index.h"

namespace tessera::schedule {
namespace {

/// Null for statements other than loops and blocks.
const Object* key_of(const StmtNode* stmt) {
  if (auto* loop = cast_or_null<For>(stmt)) return loop->loop_var.get();
  if (auto* realize = cast_or_null<BlockRealize>(stmt)) return block_key(realize->block.get());
  return nullptr;
}

/// Every object by which the loop or block may be asked for.
template <class F>
void for_each_key(const StmtNode* stmt, const F& visit) {
  auto* realize = cast_or_null<BlockRealize>(stmt);
  if (!realize || realize->block->iter_vars.empty()) return visit(key_of(stmt));
  for (const IterVar& iter : realize->block->iter_vars) visit(static_cast<const Object*>(iter->var.get()));
}

std::vector<const StmtNode*> inner(const StmtNode* stmt) {
  std::vector<const StmtNode*> out;
  for_each_inner(stmt, [&](const Stmt& child) { out.push_back(child.get()); });
  return out;
}

/// Goes on from the end of the path to `target`, through statements that have no key.
bool reach(Path& path, const StmtNode* target) {
  if (path.back() == target) return true;
  auto try_child = [&](const StmtNode* child) {
    if (child != target && key_of(child)) return false;
    path.push_back(child);
    if (reach(path, target)) return true;
    path.pop_back();
    return false;
  };
  if (auto* seq = cast_or_null<SeqStmt>(path.back())) {
    for (const ObjectRef& part : seq->seq->items)
      if (part.get() == target) return path.push_back(target), true;
  }
  for (const StmtNode* child : inner(path.back()))
    if (try_child(child)) return true;
  return false;
}

}  // namespace

const Object* block_key(const BlockNode* block) {
  if (block->iter_vars.empty()) return block->name_hint.get();
  return block->iter_vars[0]->var.get();
}

void Index::follow(const Stmt& body) {
  if (body.same_as(body_)) return;
  if (body_) update(body_.get(), body.get(), nullptr);
  else add(body.get(), nullptr);
  for (const StmtNode* old : left_) forget(old);
  left_.clear();
  kept_.clear();
  body_ = body;
}

void Index::set(const StmtNode* stmt, const Object* around) {
  for_each_key(stmt, [&](const Object* key) { entries_[key] = {stmt, around}; });
  if (auto* realize = cast_or_null<BlockRealize>(stmt))
    names_[realize->block->name_hint.str()].insert(block_key(realize->block.get()));
}

void Index::add(const StmtNode* stmt, const Object* around) {
  if (const Object* key = key_of(stmt)) {
    auto known = entries_.find(key);
    bool is_kept = known != entries_.end() && known->second.stmt == stmt;
    if (is_kept) kept_.insert(stmt);
    if (is_kept && known->second.around == around) return;
    set(stmt, around);
    if (is_kept) return;
    around = key;
  }
  for_each_inner(stmt, [&](const Stmt& child) { add(child.get(), around); });
}

void Index::update(const StmtNode* old, const StmtNode* fresh, const Object* around) {
  if (old == fresh) return;
  const Object* key = key_of(fresh);
  if (key != key_of(old)) {
    left_.push_back(old);
    return add(fresh, around);
  }
  if (key) {
    set(fresh, around);
    forget_keys(old);
    around = key;
  }
  update_inner(old, fresh, around);
}

void Index::update_inner(const StmtNode* old, const StmtNode* fresh, const Object* around) {
  std::vector<const StmtNode*> before = inner(old), after = inner(fresh);
  size_t first = 0, last = 0, common = std::min(before.size(), after.size());
  while (first < common && before[first] == after[first]) ++first;
  while (first + last < common && before[before.size() - 1 - last] == after[after.size() - 1 - last]) ++last;
  if (before.size() == after.size()) {
    for (size_t i = first; i + last < after.size(); ++i) update(before[i], after[i], around);
    return;
  }
  for (size_t i = first; i + last < before.size(); ++i) left_.push_back(before[i]);
  for (size_t i = first; i + last < after.size(); ++i) add(after[i], around);
}

void Index::forget_keys(const StmtNode* old) {
  for_each_key(old, [&](const Object* key) {
    auto known = entries_.find(key);
    if (known != entries_.end() && known->second.stmt == old) entries_.erase(known);
  });
  auto* realize = cast_or_null<BlockRealize>(old);
  if (!realize) return;
  const Object* key = key_of(old);
  auto now = entries_.find(key);
  auto* still = now == entries_.end() ? nullptr : cast_or_null<BlockRealize>(now->second.stmt);
  if (still && key_of(still) == key && still->block->name_hint == realize->block->name_hint) return;
  auto named = names_.find(realize->block->name_hint.str());
  if (named == names_.end()) return;
  named->second.erase(key);
  if (named->second.empty()) names_.erase(named);
}

void Index::forget(const StmtNode* old) {
  if (kept_.count(old)) return;
  if (key_of(old)) forget_keys(old);
  for_each_inner(old, [&](const Stmt& child) { forget(child.get()); });
}

Path Index::find(const Object* key) const {
  std::vector<const StmtNode*> way;  // the loops and blocks around, innermost first
  while (key) {
    auto known = entries_.find(key);
    if (known == entries_.end()) return {};
    way.push_back(known->second.stmt);
    key = known->second.around;
  }
  if (way.empty()) return {};
  Path path{body_.get()};
  for (size_t i = way.size(); i-- > 0;) ICHECK(reach(path, way[i])) << "the index follows the body";
  return path;
}

std::vector<const Object*> Index::named(const std::string& name) const {
  auto found = names_.find(name);
  if (found == names_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace tessera::schedule
