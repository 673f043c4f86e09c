#include "schedule/state_view.h"

#include "runtime/registry.h"
#include "schedule/checks.h"

namespace tessera::schedule {
namespace {

/// Where the statement stands now; an empty path when it is gone.
Cursor cursor_of(const StmtSRef& sref) {
  try {
    return sref->is_loop ? sref->state.find(sref->loop) : sref->state.find(sref->block);
  } catch (const Error&) {
    return {};
  }
}

StmtSRef sref_at(const State& state, const Cursor& cursor) {
  StmtSRefNode node;
  node.state = state;
  node.is_loop = cursor.loop() != nullptr;
  if (node.is_loop) node.loop = State::ref(cursor.function, cursor.loop());
  else node.block = State::ref(cursor.function, cursor.block());
  if (cursor.path.size() > 1)
    if (auto* seq = cursor.path[cursor.path.size() - 2].as<SeqStmt>())
      for (size_t i = 0; i < seq->seq.size(); ++i)
        if (seq->seq[i].same_as(cursor.stmt())) node.seq_index = static_cast<int64_t>(i);
  ObjectRef key = node.is_loop ? ObjectRef(node.loop.var) : node.block.key;
  ObjectRef& known = state.views()[key.get()].second;
  if (!known) {
    state.views()[key.get()].first = key;
    known = make(StmtSRefNode(node));
  }
  StmtSRef sref = downcast<StmtSRef>(known);
  sref.edit()->seq_index = node.seq_index;
  return sref;
}

/// The sref of a loop or block of the module; empty when it is none of them.
ObjectRef sref_of_stmt(const State& state, const Stmt& stmt) {
  for (const auto& [var, function] : state.mod().sorted_functions()) {
    auto* program = function.as<PrimFuncNode>();
    if (!program || !program->body) continue;
    for (const Cursor& block : all_blocks(program->body, var)) {
      if (stmt.get() == block.block()) return sref_at(state, block);
      for (size_t i = 0; i < block.path.size(); ++i)
        if (block.path[i].same_as(stmt) && stmt.as<For>())
          return sref_at(state, {var, {block.path.begin(), block.path.begin() + static_cast<long>(i) + 1}});
    }
  }
  return {};
}

ObjectRef stmt_of(const StmtSRef& sref) {
  Cursor cursor = cursor_of(sref);
  if (cursor.path.empty()) return {};
  return sref->is_loop ? ObjectRef(cursor.stmt()) : ObjectRef(cursor.realize()->block);
}

ObjectRef parent_of(const StmtSRef& sref) {
  Cursor cursor = cursor_of(sref);
  while (cursor.path.size() > 1) {
    cursor.path.pop_back();
    if (cursor.stmt().as<For>() || cursor.stmt().as<BlockRealize>()) return sref_at(sref->state, cursor);
  }
  return {};
}

Cursor require_block(const StmtSRef& sref) {
  Cursor cursor = cursor_of(sref);
  if (cursor.path.empty() || sref->is_loop) throw Error(ValueError) << "this reference is to no block of the program";
  return cursor;
}

BlockScope scope_of(const ScheduleState& self, const StmtSRef& sref) {
  Cursor cursor = require_block(sref);
  BlockScopeNode scope;
  for (BlockDependency& dependency : dependencies(cursor.realize(), cursor.function)) {
    for (Cursor* end : {&dependency.from, &dependency.to})
      end->path.insert(end->path.begin(), cursor.path.begin(), cursor.path.end());
    scope.dependencies.push_back(make(DependencyNode{.src = sref_at(self->state, dependency.from),
                                                     .dst = sref_at(self->state, dependency.to),
                                                     .kind = static_cast<int>(dependency.kind)}));
  }
  return make(std::move(scope));
}

Array<Dependency> dependencies_at(const BlockScope& scope, const StmtSRef& end, bool by_src) {
  Array<Dependency> out;
  for (const Dependency& each : scope->dependencies)
    if ((by_src ? each->src : each->dst).same_as(end)) out.push_back(each);
  return out;
}

/// Whether the bindings are affine, the reads covered, and the block a scope of stages.
Array<ObjectRef> flags_of(const ScheduleState&, const StmtSRef& sref) {
  Cursor cursor = require_block(sref);
  bool flags[] = {has_affine_bindings(cursor), is_region_covered(cursor),
                  is_stage_pipeline(cursor.realize(), cursor.function)};
  Array<ObjectRef> out;
  for (bool flag : flags) out.push_back(bool_imm(flag));
  return out;
}

ScheduleState view_of(const State& state, int debug_mask) {
  ScheduleStateNode node;
  node.state = state;
  node.debug_mask = debug_mask;
  return make(std::move(node));
}

void replace(const ScheduleState& self, const StmtSRef& sref, const Stmt& fresh) {
  Cursor cursor = cursor_of(sref);
  if (cursor.path.empty()) throw Error(ValueError) << "the statement to replace is no longer in the program";
  auto* block = fresh.as<BlockNode>();
  Stmt whole = block && cursor.realize() ? Stmt(with(cursor.realize(), &BlockRealize::block, Block(block))) : fresh;
  if (!whole.as<For>() && !whole.as<BlockRealize>())
    throw Error(TypeError) << "a loop or block is replaced by a loop or block, not by a " << fresh->type_key();
  self.edit()->state.replace(cursor.function, cursor.stmt(), whole);
}

Globals state_view_globals{
    {"tir.schedule.ScheduleState", [](const IRModule& mod, int debug_mask) { return view_of(State(mod), debug_mask); }},
    {"tir.schedule.ScheduleGetState", [](const Schedule& sch) { return view_of(sch->state, sch->debug_mask); }},
    {"tir.schedule.ScheduleStateGetMod", [](const ScheduleState& self) { return self->state.mod().copy(); }},
    {"tir.schedule.ScheduleStateGetSRef",
     [](const ScheduleState& self, const Stmt& stmt) { return sref_of_stmt(self->state, stmt); }},
    {"tir.schedule.ScheduleStateGetBlockScope", scope_of},
    {"tir.schedule.ScheduleStateGetCachedFlags", flags_of},
    {"tir.schedule.ScheduleStateReplace", replace},
    {"tir.schedule.ScheduleGetSRef",
     [](const Schedule& sch, const ObjectRef& of) {
       if (auto* stmt = of.as<StmtNode>()) return sref_of_stmt(sch->state, Stmt(stmt));
       return ObjectRef(sref_at(sch->state, sch->cursor(of)));
     }},
    {"tir.schedule.StmtSRefStmt", stmt_of},
    {"tir.schedule.StmtSRefParent", parent_of},
    {"tir.schedule.BlockScopeGetDepsBySrc",
     [](const BlockScope& scope, const StmtSRef& block) { return dependencies_at(scope, block, true); }},
    {"tir.schedule.BlockScopeGetDepsByDst",
     [](const BlockScope& scope, const StmtSRef& block) { return dependencies_at(scope, block, false); }},
};

}  // namespace
}  // namespace tessera::schedule
