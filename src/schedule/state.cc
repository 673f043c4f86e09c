#include "schedule/state.h"

#include <unordered_set>

#include "arith/iter_map/iter_map.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

/// A path as references of its own, which outlive the program.
Cursor cursor_at(const GlobalVar& function, const Path& path) {
  Cursor out{function, {}};
  out.path.reserve(path.size());
  for (const StmtNode* stmt : path) out.path.emplace_back(stmt);
  return out;
}

/// `parent` with `fresh` instead of the statement `old` directly inside it.
Stmt with_inner(const Stmt& parent, const StmtNode* old, const Stmt& fresh) {
  auto body = [&]<class T>(const T* node) -> Stmt { return with(node, &T::body, fresh); };
  if (auto* loop = parent.as<For>()) return body(loop);
  if (auto* realize = parent.as<BlockRealize>()) {
    bool is_init = realize->block->init.get() == old;
    Block block = with(realize->block, is_init ? &BlockNode::init : &BlockNode::body, fresh);
    return with(realize, &BlockRealize::block, block);
  }
  if (auto* seq = parent.as<SeqStmt>()) {
    std::vector<Stmt> parts = seq->seq.vec();
    for (Stmt& part : parts)
      if (part.get() == old) part = fresh;
    return sequence(parts);
  }
  if (auto* choice = parent.as<IfThenElse>())
    return with(choice, choice->then_case.get() == old ? &IfThenElse::then_case : &IfThenElse::else_case, fresh);
  if (auto* let = parent.as<LetStmt>()) return body(let);
  if (auto* attr = parent.as<AttrStmt>()) return body(attr);
  if (auto* loop = parent.as<While>()) return body(loop);
  if (auto* check = parent.as<AssertStmt>()) return body(check);
  if (auto* allocate = parent.as<Allocate>()) return body(allocate);
  if (auto* constant = parent.as<AllocateConst>()) return body(constant);
  return body(parent.as<DeclBuffer>());
}

/// True when two loops or two blocks share a variable, so that one would be taken for the other.
bool shares_variables(const Stmt& body) {
  std::unordered_set<const Object*> seen;
  bool shared = false;
  visit_statements(body, [&](const Path& path) {
    if (auto* loop = cast_or_null<For>(path.back())) shared |= !seen.insert(loop->loop_var.get()).second;
    if (auto* realize = cast_or_null<BlockRealize>(path.back()))
      for (const IterVar& iter : realize->block->iter_vars) shared |= !seen.insert(iter->var.get()).second;
    return true;
  });
  return shared;
}

/// Gives each block that has no variables a name object of its own.
Stmt with_own_names(const Stmt& body) {
  std::unordered_set<const Object*> seen;
  return rewrite(body, [&](Rewriter& self, const BlockNode* node) -> Block {
    Block block = self.children(node);
    if (!block->iter_vars.empty() || seen.insert(block->name_hint.get()).second) return block;
    return with(block, &BlockNode::name_hint, String(block->name_hint.str()));
  });
}

}  // namespace

std::vector<const For*> Cursor::loops() const {
  std::vector<const For*> out;
  for (size_t i = path.size() - 1; i-- > 0;) {
    if (path[i].as<BlockRealize>()) break;
    if (auto* loop = path[i].as<For>()) out.insert(out.begin(), loop);
  }
  return out;
}

const BlockRealize* Cursor::scope() const {
  for (size_t i = path.size() - 1; i-- > 0;)
    if (auto* realize = path[i].as<BlockRealize>()) return realize;
  return nullptr;
}

std::vector<const For*> common_loops(const Cursor& a, const Cursor& b) {
  std::vector<const For*> first = a.loops(), second = b.loops();
  size_t same = 0;
  while (same < first.size() && same < second.size() && first[same] == second[same]) ++same;
  first.resize(same);
  return first;
}

State::State(IRModule mod) : mod_(mod.copy()) {
  for (const auto& [var, function] : mod_.sorted_functions()) {
    auto* prim_func = function.as<PrimFuncNode>();
    if (!prim_func || !prim_func->body) continue;
    if (shares_variables(prim_func->body)) {
      Remap renew([](const Var&) { return PrimExpr(); });
      renew.renew_definitions();
      set_body(var, renew(prim_func->body));
    }
    Stmt body = this->function(var)->body, named = with_own_names(body);
    if (!named.same_as(body)) set_body(var, named);
  }
}

PrimFunc State::function(const GlobalVar& var) const { return downcast<PrimFunc>(mod_->functions[var]); }

const Index& State::index(const GlobalVar& function) const {
  Index& index = (*indices_)[function.get()];
  index.follow(this->function(function)->body);
  return index;
}

Cursor State::find(const LoopRef& loop) const {
  if (loop.mark != LoopMark::None)
    throw Error(ValueError) << "this is no loop but the answer of sample_compute_location to "
                            << (loop.mark == LoopMark::Root ? "leave the block where it is" : "inline the block");
  Path path = index(loop.function).find(loop.var.get());
  if (path.empty() || !cast_or_null<For>(path.back()))
    throw Error(ValueError) << "The loop no longer exists in the IRModule: " << loop.var->name
                            << " was rewritten or removed; take the loops that the primitive returned";
  return cursor_at(loop.function, path);
}

Cursor State::find(const BlockRef& block) const {
  const Object* key = block.key.get();
  for (auto it = names_->now.find(key); it != names_->now.end(); it = names_->now.find(key)) key = it->second.get();
  Path path = index(block.function).find(key);
  if (path.empty() || !cast_or_null<BlockRealize>(path.back()))
    throw Error(ValueError) << "The block no longer exists in the IRModule";
  return cursor_at(block.function, path);
}

std::vector<Cursor> State::blocks_named(const GlobalVar& function, const std::string& name) const {
  std::vector<Cursor> out;
  const Index& index = this->index(function);
  for (const Object* key : index.named(name)) out.push_back(cursor_at(function, index.find(key)));
  return out;
}

BlockRef State::ref(const GlobalVar& function, const BlockNode* block) {
  return {function, ObjectRef(block_key(block))};
}

void State::set_body(const GlobalVar& function, const Stmt& body) {
  mod_.update(function, with_body(this->function(function), body));
}

void State::set_function(const GlobalVar& function, const PrimFunc& changed) { mod_.update(function, changed); }

void State::rename(const BlockNode* old, const BlockNode* fresh) {
  ObjectRef key(block_key(fresh));
  for (const IterVar& iter : old->iter_vars) {
    bool is_kept = false;
    for (const IterVar& own : fresh->iter_vars) is_kept |= own->var.same_as(iter->var);
    if (is_kept) continue;
    ObjectRef& now = names_->now[iter->var.get()];
    names_->log.emplace_back(iter->var, now);
    now = key;
  }
}

State State::copy() const {
  State out(mod_);
  *out.names_ = *names_;
  return out;
}

void State::restore(const Snapshot& before) {
  mod_.edit()->functions = before.functions;
  for (; names_->log.size() > before.renamed; names_->log.pop_back()) {
    const auto& [var, meant] = names_->log.back();
    if (meant) names_->now[var.get()] = meant;
    else names_->now.erase(var.get());
  }
}

void State::replace(const GlobalVar& function, const Stmt& old, const Stmt& fresh) {
  const Object* key = old.as<For>() ? old.as<For>()->loop_var.get() : block_key(old.as<BlockRealize>()->block.get());
  Path path = index(function).find(key);
  ICHECK(!path.empty() && path.back() == old.get()) << "the statement to replace is a loop or block of the program";
  Stmt changed = fresh ? fresh : make_nop();
  for (size_t i = path.size() - 1; i-- > 0;) changed = with_inner(Stmt(path[i]), path[i + 1], changed);
  set_body(function, changed);
}

std::vector<Cursor> blocks_below(const Stmt& stmt, const GlobalVar& function) {
  return blocks_where(stmt, function, [](const BlockNode*) { return true; });
}

std::vector<Cursor> blocks_where(const Stmt& stmt, const GlobalVar& function,
                                 const std::function<bool(const BlockNode*)>& is_wanted) {
  std::vector<Cursor> out;
  visit_statements(stmt, [&](const Path& path) {
    auto* realize = cast_or_null<BlockRealize>(path.back());
    if (realize && is_wanted(realize->block.get())) out.push_back(cursor_at(function, path));
    return !realize;
  });
  return out;
}

std::vector<Cursor> all_blocks(const Stmt& stmt, const GlobalVar& function) {
  std::vector<Cursor> out;
  visit_statements(stmt, [&](const Path& path) {
    if (cast_or_null<BlockRealize>(path.back())) out.push_back(cursor_at(function, path));
    return true;
  });
  return out;
}

Map<Var, Range> loop_domains(const Cursor& cursor) {
  Map<Var, Range> out;
  for (const For* loop : cursor.loops()) out.set(loop->loop_var, range_of(loop));
  return out;
}

Stmt map_statements(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& change) {
  if (Stmt changed = change(stmt)) return changed;
  if (auto* seq = stmt.as<SeqStmt>()) {
    std::vector<Stmt> parts = seq->seq.vec();
    bool is_same = true;
    for (Stmt& part : parts) {
      Stmt changed = map_statements(part, change);
      is_same &= changed.same_as(part);
      part = changed;
    }
    return is_same ? stmt : sequence(parts);
  }
  Stmt out = stmt;
  for_each_inner(stmt.get(), [&](const Stmt& inside) {
    Stmt changed = map_statements(inside, change);
    if (!changed.same_as(inside)) out = with_inner(out, inside.get(), changed);
  });
  return out;
}

Stmt map_blocks(const Stmt& stmt, const std::function<Stmt(const BlockRealize*)>& change) {
  return map_statements(stmt, [&](const Stmt& inside) -> Stmt {
    auto* realize = inside.as<BlockRealize>();
    return realize ? change(realize) : Stmt();
  });
}

Stmt simplify_bindings(const Stmt& stmt, const std::vector<const For*>& outer, bool simplify_unit_loops) {
  Map<Var, Range> domains;
  for (const For* loop : outer) domains.set(loop->loop_var, range_of(loop));
  return rewrite(
      stmt,
      [&](Rewriter& self, const For* loop) -> Stmt {
        domains.set(loop->loop_var, range_of(loop));
        return self.children(loop);
      },
      [&](const BlockRealize* realize) -> Stmt {
        Array<PrimExpr> values = arith::iter_map_simplify(realize->iter_values, domains, realize->predicate,
                                                          arith::IterMapLevel::Surjective, simplify_unit_loops);
        return with(realize, &BlockRealize::iter_values, values);
      });
}

Range range_of(const For* loop) { return make_range(loop->min, loop->extent); }

std::string loop_names(const std::vector<const For*>& loops) {
  std::string out;
  for (const For* loop : loops) out += (out.empty() ? "" : ", ") + loop->loop_var->name.str();
  return out.empty() ? "(none)" : out;
}

}  // namespace tessera::schedule
