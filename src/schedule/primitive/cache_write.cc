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

/// What the block writes inside the site, which must be all of the box: a copy back would write the rest too.
Array<arith::IntSet> written_box(const Cursor& producer, const BufferRegion& write, const Site& site,
                                 arith::Analyzer& analyzer) {
  require_domain_guard(producer);
  Array<arith::IntSet> box = exact_box(producer, write, loops_inside(producer, site), analyzer);
  bool is_known = box.defined();
  for (size_t i = 0; is_known && !is_one(producer.realize()->predicate) && i < box.size(); ++i) {
    arith::IntSet inside = domain_box(producer, write->region[i], analyzer);
    is_known = !inside.is_nothing();
    if (is_known) box.set(i, arith::intersect_sets({box[i], inside}, &analyzer));
  }
  if (is_known) return box;
  throw PrimitiveError(producer.block()) << "it cannot be shown that block " << quoted(producer.block()->name_hint)
                                         << " writes all of " << write->buffer->name
                                         << " between the first and the last "
                                         << "element; the copy would overwrite the others";
}

/// The blocks of a scope that build a buffer up: those that write it, and those that read it before the last of them.
struct Builders {
  std::vector<Cursor> producers, members, consumers;  // consumers: behind the last producer

  bool has(const BlockNode* block) const {
    for (const Cursor& member : members)
      if (member.block() == block) return true;
    return false;
  }
};

Builders builders_of(const Buffer& buffer, const BlockRealize* scope, const GlobalVar& function) {
  Builders out;
  auto is_user = [&](const BlockNode* block) { return reads_buffer(block, buffer) || writes_buffer(block, buffer); };
  std::vector<Cursor> blocks = blocks_where(scope->block->body, function, is_user);
  size_t last = 0;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (writes_buffer(blocks[i].block(), buffer)) last = i;
  for (size_t i = 0; i < blocks.size(); ++i) {
    bool writes = writes_buffer(blocks[i].block(), buffer), reads = reads_buffer(blocks[i].block(), buffer);
    if (writes) out.producers.push_back(blocks[i]);
    if (writes || (reads && i < last)) out.members.push_back(blocks[i]);
    else if (reads) out.consumers.push_back(blocks[i]);
  }
  return out;
}

/// Behind the last producer, in a loop that all of them stand in.
Site site_behind_all(const Builders& builders, const BlockRealize* scope) {
  const Cursor& last = builders.producers.back();
  Site site = site_behind(last, builders.consumers, scope);
  std::vector<const For*> loops = last.loops();
  size_t depth = loops.size() - loops_inside(last, site).size();
  for (const Cursor& member : builders.members)
    if (member.block() != last.block()) depth = std::min(depth, common_loops(last, member).size());
  site.loop = depth > 0 ? loops[depth - 1] : nullptr;
  std::vector<Stmt> parts = statements_of(site.loop ? site.loop->body : scope->block->body);
  bool is_last = !site.loop && builders.consumers.empty();
  site.position = is_last ? parts.size() : position_of(parts, last.block()) + 1;
  return site;
}

/// What is written inside the site, which one of the producers has to write all of.
Array<arith::IntSet> built_box(const Builders& builders, const Buffer& buffer, const Site& site,
                               arith::Analyzer& analyzer) {
  Array<arith::IntSet> box;
  std::vector<Array<arith::IntSet>> each;
  for (const Cursor& producer : builders.producers)
    for (const BufferRegion& write : producer.block()->writes) {
      if (!write->buffer.same_as(buffer)) continue;
      each.push_back(written_box(producer, write, site, analyzer));
      box = hull(box, each.back(), analyzer);
    }
  auto is_all = [&](const Array<arith::IntSet>& one) {
    for (size_t i = 0; i < box.size(); ++i) {
      const arith::IntSet mine = one[i], all = box[i];
      if (!analyzer.can_prove_equal(mine.min(), all.min()) || !analyzer.can_prove_equal(mine.max(), all.max()))
        return false;
    }
    return true;
  };
  for (const Array<arith::IntSet>& one : each)
    if (each.size() == 1 || is_all(one)) return box;
  throw PrimitiveError({Stmt(builders.producers[0].block()), Stmt(builders.producers[1].block())})
      << "buffer " << buffer->name << " is written by several blocks, and none of them is known to write all that the "
      << "others do; the copy would overwrite the rest";
}

}  // namespace

/// cache_write(C, 0, "local"):   C[i] = f(i)   =>   C_local[i] = f(i); C[v] = C_local[v]
/// The copy stands right behind the block, inside the loops that it shares with those that read C; at the end of the
/// scope where none does. Where several blocks
/// write C, one after another (the init and the update of a reduction), all of them write the copy, which stands behind
/// the last.
BlockRef cache_write(State& state, const BlockRef& ref, int buffer_index, const String& scope_name) {
  Cursor cursor = state.find(ref);
  Buffer buffer = buffer_at(cursor.block(), buffer_index, true);
  require_scope(scope_name);
  const BlockRealize* scope = require_scope_of(cursor);
  Builders builders = builders_of(buffer, scope, ref.function);
  const BlockNode* first = builders.members[0].block();
  if (!first->init && reads_buffer(first, buffer))
    throw PrimitiveError(first) << "block " << quoted(first->name_hint) << " adds to what " << buffer->name
                                << " holds already, which a copy would begin without; cache_write before blockize or "
                                << "decompose_reduction";
  Site site = site_behind_all(builders, scope);
  arith::Analyzer analyzer;
  bind_axes_around(cursor, analyzer);
  bind_outside(builders.producers.back(), site, analyzer);
  Array<arith::IntSet> box = built_box(builders, buffer, site, analyzer);
  bool was_covered = are_covered(state, ref.function, builders.consumers);
  Buffer fresh = with_scope(buffer, scope_name);
  Stmt nest = copy_nest(fresh, buffer, fresh->name, ranges_of(box, buffer, analyzer));
  BlockRef out = State::ref(ref.function, block_of(nest));
  std::vector<BlockRef> members;
  for (const Cursor& member : builders.members) members.push_back(State::ref(ref.function, member.block()));
  insert_copy(state, ref.function, scope, site, nest, fresh, [&](const BlockRealize* realize) -> Stmt {
    return builders.has(realize->block.get()) ? replace_buffer(Stmt(realize), buffer, fresh) : Stmt(realize);
  });
  std::string why_not;
  for (const BlockRef& member : members)
    if (members.size() > 1 && !is_region_covered(state.find(member), &why_not))
      throw PrimitiveError(state.find(member).block())
          << "the copy would begin without what " << buffer->name << " holds already: " << why_not;
  require_covered(state, out, was_covered);
  return out;
}

}  // namespace tessera::schedule
