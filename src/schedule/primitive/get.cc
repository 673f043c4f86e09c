// Finding blocks and loops.

#include "schedule/checks.h"
#include "schedule/primitive_error.h"
#include "schedule/primitives.h"

namespace tessera::schedule {
namespace {

std::vector<BlockRef> neighbours(const State& state, const BlockRef& block, bool consumers) {
  Cursor cursor = state.find(block);
  const BlockRealize* scope = cursor.scope();
  std::vector<BlockRef> out;
  if (!scope) return out;
  for_each_block(scope->block->body, [&](const BlockNode* other) {
    if (other == cursor.block()) return;
    bool linked = false;
    for (const BufferRegion& region : consumers ? cursor.block()->writes : cursor.block()->reads)
      linked |= consumers ? reads_buffer(other, region->buffer) : writes_buffer(other, region->buffer);
    if (linked) out.push_back(State::ref(block.function, other));
  });
  return out;
}

}  // namespace

BlockRef get_block(const State& state, const String& name, const String& function) {
  GlobalVar var = state.mod().get_global_var(function);
  std::vector<Cursor> found = state.blocks_named(var, name.str());
  if (found.size() == 1) return State::ref(var, found[0].block());
  if (found.size() > 1)
    throw Error(ScheduleError) << "Found " << found.size() << " blocks with the name: " << name
                               << "; only a block whose name is its own can be asked for";
  std::string names;
  for (const Cursor& cursor : all_blocks(state.function(var)->body, var))
    names += (names.empty() ? "" : ", ") + cursor.block()->name_hint.str();
  throw PrimitiveError().briefly("Cannot find a block with the specified name")
      << "Cannot find a block with the name: " << name << "; the blocks of " << quoted(function) << " are " << names;
}

std::vector<LoopRef> get_loops(const State& state, const BlockRef& block) {
  std::vector<LoopRef> out;
  for (const For* loop : state.find(block).loops()) out.push_back(State::ref(block.function, loop));
  return out;
}

std::vector<BlockRef> get_child_blocks(const State&, const Cursor& cursor) {
  std::vector<BlockRef> out;
  const Stmt& body = cursor.loop() ? cursor.loop()->body : cursor.block()->body;
  for_each_block(body, [&](const BlockNode* child) { out.push_back(State::ref(cursor.function, child)); });
  return out;
}

std::vector<BlockRef> get_producers(const State& state, const BlockRef& block) {
  return neighbours(state, block, false);
}
std::vector<BlockRef> get_consumers(const State& state, const BlockRef& block) {
  return neighbours(state, block, true);
}

}  // namespace tessera::schedule
