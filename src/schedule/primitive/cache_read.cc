#include "ir/prim/ops.h"
#include "schedule/cached_copy.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitive_error.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "schedule/region.h"
#include "schedule/scope.h"

namespace tessera::schedule {
namespace {

bool stands_before(const Cursor& a, const Cursor& b, const BlockRealize* scope) {
  const BlockNode* first = nullptr;
  for_each_block(scope->block->body, [&](const BlockNode* block) {
    if (!first && (block == a.block() || block == b.block())) first = block;
  });
  return first == a.block() && first != b.block();
}

}  // namespace

/// cache_read(C, 0, "shared"):   C[i] = f(A[i])   =>   A_shared[v] = A[v]; C[i] = f(A_shared[i])
/// The copy stands just behind the block that writes A, inside the loops it shares with consumers; first in the scope
/// where none does. All consumers of the scope, or those `named`, read the copy.
BlockRef cache_read(State& state, const BlockRef& ref, int buffer_index, const String& scope_name,
                    const std::vector<BlockRef>& named) {
  Cursor cursor = state.find(ref);
  Buffer buffer = buffer_at(cursor.block(), buffer_index, false);
  require_scope(scope_name);
  const BlockRealize* scope = require_scope_of(cursor);
  std::vector<const BlockNode*> wanted;
  for (const BlockRef& consumer : named) wanted.push_back(state.find(consumer).block());
  auto is_user = [&](const BlockNode* block) { return reads_buffer(block, buffer) || writes_buffer(block, buffer); };
  std::vector<Cursor> consumers, producers;
  for (const Cursor& other : blocks_where(scope->block->body, ref.function, is_user)) {
    if (writes_buffer(other.block(), buffer)) producers.push_back(other);
    if (producers.size() > 1)
      throw PrimitiveError({Stmt(producers[0].block()), Stmt(producers[1].block())})
          << "buffer " << buffer->name << " is written by more than one block";
    if (!reads_buffer(other.block(), buffer)) continue;
    bool is_named = named.empty();
    for (const BlockNode* consumer : wanted) is_named |= consumer == other.block();
    if (is_named) consumers.push_back(other);
  }
  size_t early = 0;  // consumers that run before the producer: they want a copy of what was there before
  for (const Cursor& consumer : consumers) early += !producers.empty() && stands_before(consumer, producers[0], scope);
  if (early > 0 && early < consumers.size())
    throw PrimitiveError(producers[0].block())
        << "buffer " << buffer->name << " is read before and after block " << quoted(producers[0].block()->name_hint)
        << " writes it; say by consumer_blocks which of them read the copy";
  Site site = producers.empty() || early > 0 ? Site() : site_behind(producers[0], consumers, scope);
  arith::Analyzer analyzer;
  bind_axes_around(cursor, analyzer);
  if (site.loop) bind_outside(producers[0], site, analyzer);
  Array<arith::IntSet> box;
  for (const Cursor& consumer : consumers) {
    if (!producers.empty() && consumer.block() == producers[0].block())
      throw PrimitiveError(consumer.block()) << "block " << quoted(consumer.block()->name_hint) << " reads and writes "
                                             << buffer->name << ", so that what it reads cannot be copied before";
    for (const BufferRegion& read : consumer.block()->reads)
      if (read->buffer.same_as(buffer))
        box = hull(box, touched(consumer, read, loops_inside(consumer, site), analyzer), analyzer);
  }
  bool was_covered = are_covered(state, ref.function, consumers);
  Buffer fresh = with_scope(buffer, scope_name);
  Stmt nest = copy_nest(buffer, fresh, fresh->name, ranges_of(box, buffer, analyzer));
  BlockRef out = State::ref(ref.function, block_of(nest));
  insert_copy(state, ref.function, scope, site, nest, fresh, [&](const BlockRealize* realize) -> Stmt {
    for (const Cursor& consumer : consumers)
      if (consumer.block() == realize->block.get()) return replace_buffer(Stmt(realize), buffer, fresh);
    return Stmt(realize);
  });
  require_covered(state, out, was_covered);
  return out;
}

}  // namespace tessera::schedule
