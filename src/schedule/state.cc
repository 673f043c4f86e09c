#include "schedule/state.h"

#include <unordered_set>

#include "arith/iter_map.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

/// The statements directly inside `stmt`.
std::vector<Stmt> inner(const Stmt& stmt) {
  if (auto* loop = stmt.as<For>()) return {loop->body};
  if (auto* realize = stmt.as<BlockRealize>()) {
    if (realize->block->init) return {realize->block->init, realize->block->body};
    return {realize->block->body};
  }
  if (auto* seq = stmt.as<SeqStmt>()) return seq->seq.vec();
  if (auto* choice = stmt.as<IfThenElse>()) {
    if (choice->else_case) return {choice->then_case, choice->else_case};
    return {choice->then_case};
  }
  if (auto* let = stmt.as<LetStmt>()) return {let->body};
  if (auto* attr = stmt.as<AttrStmt>()) return {attr->body};
  if (auto* loop = stmt.as<While>()) return {loop->body};
  if (auto* check = stmt.as<AssertStmt>()) return {check->body};
  if (auto* allocate = stmt.as<Allocate>()) return {allocate->body};
  if (auto* constant = stmt.as<AllocateConst>()) return {constant->body};
  if (auto* declare = stmt.as<DeclBuffer>()) return {declare->body};
  return {};
}

using Visit = std::function<bool(const std::vector<Stmt>& path)>;  // true: go inside

void descend(std::vector<Stmt>& path, const Visit& visit) {
  if (!visit(path)) return;
  for (const Stmt& child : inner(path.back())) {
    path.push_back(child);
    descend(path, visit);
    path.pop_back();
  }
}

void visit_statements(const Stmt& root, const Visit& visit) {
  std::vector<Stmt> path{root};
  descend(path, visit);
}

ObjectRef key_of(const BlockNode* block) {
  if (block->iter_vars.empty()) return block->name_hint;
  return block->iter_vars[0]->var;
}

/// A block without variables is known by its name as the very object that rewrites carry along.
bool is_key(const ObjectRef& key, const BlockNode* block) {
  if (block->iter_vars.empty()) return block->name_hint.same_as(key);
  for (const IterVar& iter : block->iter_vars)
    if (iter->var.same_as(key)) return true;
  return false;
}

/// True when two loops or two blocks share a variable, so that one would be taken for the other.
bool shares_variables(const Stmt& body) {
  std::unordered_set<const Object*> seen;
  bool shared = false;
  visit_statements(body, [&](const std::vector<Stmt>& path) {
    if (auto* loop = path.back().as<For>()) shared |= !seen.insert(loop->loop_var.get()).second;
    if (auto* realize = path.back().as<BlockRealize>())
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

std::vector<const For*> Place::loops() const {
  std::vector<const For*> out;
  for (size_t i = path.size() - 1; i-- > 0;) {
    if (path[i].as<BlockRealize>()) break;
    if (auto* loop = path[i].as<For>()) out.insert(out.begin(), loop);
  }
  return out;
}

const BlockRealize* Place::scope() const {
  for (size_t i = path.size() - 1; i-- > 0;)
    if (auto* realize = path[i].as<BlockRealize>()) return realize;
  return nullptr;
}

std::vector<const For*> common_loops(const Place& a, const Place& b) {
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

Place State::find(const LoopRef& loop) const {
  if (loop.mark != LoopMark::None)
    throw Error(ValueError) << "this is no loop but the answer of sample_compute_location to "
                            << (loop.mark == LoopMark::Root ? "leave the block where it is" : "inline the block");
  Place found;
  visit_statements(function(loop.function)->body, [&](const std::vector<Stmt>& path) {
    auto* here = path.back().as<For>();
    if (here && here->loop_var.same_as(loop.var)) found = {loop.function, path};
    return found.path.empty();
  });
  if (found.path.empty())
    throw Error(ValueError) << "The loop no longer exists in the IRModule: " << loop.var->name
                            << " was rewritten or removed; take the loops that the primitive returned";
  return found;
}

Place State::find(const BlockRef& block) const {
  ObjectRef key = block.key;
  for (auto it = renamed_->find(key.get()); it != renamed_->end(); it = renamed_->find(key.get()))
    key = it->second.second;
  Place found;
  visit_statements(function(block.function)->body, [&](const std::vector<Stmt>& path) {
    auto* realize = path.back().as<BlockRealize>();
    if (realize && is_key(key, realize->block.get())) found = {block.function, path};
    return found.path.empty();
  });
  if (found.path.empty()) throw Error(ValueError) << "The block no longer exists in the IRModule";
  return found;
}

std::vector<Place> State::blocks_named(const GlobalVar& function, std::string_view name) const {
  std::vector<Place> out;
  for (Place& place : all_blocks(this->function(function)->body, function))
    if (place.block()->name_hint == std::string(name)) out.push_back(std::move(place));
  return out;
}

BlockRef State::ref(const GlobalVar& function, const BlockNode* block) { return {function, key_of(block)}; }

void State::set_body(const GlobalVar& function, const Stmt& body) {
  mod_.update(function, with_body(this->function(function), body));
}

void State::set_function(const GlobalVar& function, const PrimFunc& changed) { mod_.update(function, changed); }

void State::rename(const BlockNode* old, const BlockNode* fresh) {
  ObjectRef key = key_of(fresh);
  for (const IterVar& iter : old->iter_vars) {
    bool is_kept = false;
    for (const IterVar& own : fresh->iter_vars) is_kept |= own->var.same_as(iter->var);
    if (!is_kept) (*renamed_)[iter->var.get()] = {iter->var, key};
  }
}

State State::copy() const {
  State out(mod_);
  *out.renamed_ = *renamed_;
  return out;
}

void State::take(const State& next) { restore(next.snapshot()); }

void State::restore(const Snapshot& before) {
  mod_.edit()->functions = before.functions;
  *renamed_ = before.renamed;
}

void State::replace(const GlobalVar& function, const Stmt& old, const Stmt& fresh) {
  Rewriter rewriter;
  auto swap = [&old, &fresh](Rewriter& self, const auto* node) -> Stmt {
    if (static_cast<const Object*>(node) == static_cast<const Object*>(old.get())) return fresh ? fresh : make_nop();
    return self.children(node);
  };
  rewriter.on([&](Rewriter& self, const For* loop) -> Stmt { return swap(self, loop); });
  rewriter.on([&](Rewriter& self, const BlockRealize* realize) -> Stmt { return swap(self, realize); });
  rewriter.on([&](Rewriter& self, const SeqStmt* seq) -> Stmt {
    std::vector<Stmt> parts;
    for (const Stmt& part : seq->seq) parts.push_back(self(part));
    return sequence(parts);
  });
  set_body(function, rewriter(this->function(function)->body));
}

std::vector<Place> blocks_below(const Stmt& stmt, const GlobalVar& function) {
  std::vector<Place> out;
  visit_statements(stmt, [&](const std::vector<Stmt>& path) {
    bool is_block = path.back().as<BlockRealize>();
    if (is_block) out.push_back({function, path});
    return !is_block;
  });
  return out;
}

std::vector<Place> all_blocks(const Stmt& stmt, const GlobalVar& function) {
  std::vector<Place> out;
  visit_statements(stmt, [&](const std::vector<Stmt>& path) {
    if (path.back().as<BlockRealize>()) out.push_back({function, path});
    return true;
  });
  return out;
}

Map<Var, Range> loop_domains(const Place& place) {
  Map<Var, Range> out;
  for (const For* loop : place.loops()) out.set(loop->loop_var, range_of(loop));
  return out;
}

Stmt map_blocks(const Stmt& stmt, const std::function<Stmt(const BlockRealize*)>& change) {
  return rewrite(stmt, [&](const BlockRealize* realize) -> Stmt { return change(realize); });
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
