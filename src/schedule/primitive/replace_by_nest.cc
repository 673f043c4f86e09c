// A nest of loops instead of the blocks that it computes.

#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/primitives.h"
#include "schedule/statements.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

/// The statement of the scope that is the block and its loops; rejects where more than the block stands in them.
Stmt own_nest(const Cursor& cursor) {
  std::vector<const For*> loops = cursor.loops();
  if (loops.empty()) return cursor.stmt();
  size_t blocks = 0;
  for_each_block(Stmt(loops[0]), [&](const BlockNode*) { ++blocks; });
  if (blocks != 1)
    throw Error(ScheduleError) << "the loops of block " << cursor.block()->name_hint << " run other blocks too";
  return Stmt(loops[0]);
}

BufferRegion all_of(const Buffer& buffer) {
  Array<Range> region;
  for (const PrimExpr& extent : buffer->shape) region.push_back(make_range(make_zero(extent.dtype()), extent));
  return make(BufferRegionNode{.buffer = buffer, .region = region});
}

/// The buffers of several blocks, each once.
class Buffers {
 public:
  void add(const Array<BufferRegion>& regions, const Buffers* except = nullptr) {
    for (const BufferRegion& region : regions)
      if (!(except && except->has(region->buffer)) && seen_.insert(region->buffer.get()).second)
        all.push_back(all_of(region->buffer));
  }
  bool has(const Buffer& buffer) const { return seen_.count(buffer.get()) > 0; }

  Array<BufferRegion> all;

 private:
  std::unordered_set<const Object*> seen_;
};

bool is_nest(const BlockNode* block) { return block->annotations.count(kNest) > 0; }

}  // namespace

BlockRef replace_by_nest(State& state, const BlockRef& block, const std::vector<BlockRef>& fused, const Stmt& nest) {
  std::vector<Cursor> cursors{state.find(block)};
  for (const BlockRef& other : fused) cursors.push_back(state.find(other));
  const BlockRealize* scope = cursors[0].scope();
  std::unordered_set<const BlockNode*> replaced;
  Buffers inside, reads, writes;
  std::vector<Stmt> old;
  for (size_t i = 0; i < cursors.size(); ++i) {
    if (cursors[i].scope() != scope) throw Error(ScheduleError) << "blocks of several scopes cannot become one nest";
    old.push_back(own_nest(cursors[i]));
    replaced.insert(cursors[i].block());
    if (i > 0) inside.add(cursors[i].block()->writes);
  }
  for_each_block(scope->block->body, [&](const BlockNode* other) {
    for (const BufferRegion& region : inside.all)
      if (!replaced.count(other) && reads_buffer(other, region->buffer))
        throw Error(ScheduleError) << "block " << other->name_hint << " reads " << region->buffer->name
                                   << ", which the nest does not store";
  });
  for (const Cursor& cursor : cursors) reads.add(cursor.block()->reads, &inside);
  writes.add(cursors[0].block()->writes);

  BlockNode node;
  node.name_hint = String(cursors[0].block()->name_hint.str());  // an object of its own: the block is known by it
  node.reads = reads.all;
  node.writes = writes.all;
  node.annotations.set(kNest, PrimExpr(1));
  Remap renew([](const Var&) { return PrimExpr(); });
  renew.renew_definitions();  // a nest that was taken from the program has variables that are still in it
  node.body = renew(nest);
  Block fresh = make(std::move(node));
  for (const Cursor& cursor : cursors) state.rename(cursor.block(), fresh.get());
  for (size_t i = 1; i < old.size(); ++i) state.replace(block.function, old[i], nullptr);
  state.replace(block.function, old[0],
                make(BlockRealize{.iter_values = {}, .predicate = bool_imm(true), .block = fresh}));
  return State::ref(block.function, fresh.get());
}

bool is_nest(const Cursor& cursor) { return is_nest(cursor.block()); }

PrimFunc open_nests(const PrimFunc& function) {
  Stmt body = map_statements(function->body, [](const Stmt& stmt) -> Stmt {
    auto* realize = stmt.as<BlockRealize>();
    return realize && is_nest(realize->block.get()) ? realize->block->body : Stmt();
  });
  return with_body(function, body);
}

}  // namespace tessera::schedule
