#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "schedule/refusal.h"
#include "schedule/region.h"
#include "schedule/scope.h"

namespace tessera::schedule {
namespace {

/// for ax0, ax1: with block(name): target[v0, v1] = source[v0, v1]   over `region`
Stmt copy_nest(const Buffer& source, const Buffer& target, const String& name, const Array<Range>& region) {
  Array<IterVar> iters;
  Array<PrimExpr> values, indices;
  Array<Range> points;
  std::vector<Var> loops;
  for (size_t i = 0; i < region.size(); ++i) {
    DataType dtype = region[i]->extent.dtype();
    loops.push_back(make_var("ax" + std::to_string(i), dtype));
    Var var = make_var("v" + std::to_string(i), dtype);
    iters.push_back(make_iter_var(make_range(make_zero(dtype), source->shape[i]), var, IterType::DataPar));
    values.push_back(loops[i] + region[i]->min);
    indices.push_back(var);
    points.push_back(make_range(var, make_const(dtype, 1)));
  }
  Block block = make(BlockNode{
      .iter_vars = iters,
      .reads = {make(BufferRegionNode{.buffer = source, .region = points})},
      .writes = {make(BufferRegionNode{.buffer = target, .region = points})},
      .name_hint = name,
      .body = make(BufferStore{.buffer = target, .value = make_load(source, indices), .indices = indices}),
  });
  Stmt nest = make(BlockRealize{.iter_values = values, .predicate = bool_imm(true), .block = block});
  for (size_t i = region.size(); i-- > 0;)
    nest =
        make(For{.loop_var = loops[i], .min = make_zero(loops[i]->dtype), .extent = region[i]->extent, .body = nest});
  return nest;
}

/// A place between statements: of the body of a loop, or of the scope where `loop` is null.
struct Site {
  const For* loop = nullptr;
  size_t position = 0;
};

std::vector<Stmt> parts_of(const Stmt& body) {
  if (auto* seq = body.as<SeqStmt>()) return seq->seq.vec();
  return {body};
}
/// Right behind the writer, inside every loop that it shares with one of the readers behind it.
Site site_behind(const Place& writer, const std::vector<Place>& readers, const BlockRealize* scope) {
  Site site;
  size_t depth = 0;
  std::vector<const For*> loops = writer.loops();
  for (const Place& reader : readers) depth = std::max(depth, common_loops(writer, reader).size());
  if (depth > 0) site.loop = loops[depth - 1];
  site.position = position_of(parts_of(site.loop ? site.loop->body : scope->block->body), writer.block()) + 1;
  return site;
}

bool stands_before(const Place& a, const Place& b, const BlockRealize* scope) {
  for (const Place& place : blocks_below(scope->block->body, GlobalVar())) {
    if (place.block() == a.block()) return place.block() != b.block();
    if (place.block() == b.block()) return false;
  }
  return false;
}

/// The loops of `place` inside the site.
std::vector<const For*> loops_inside(const Place& place, const Site& site) {
  std::vector<const For*> loops = place.loops();
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i] == site.loop) return {loops.begin() + static_cast<long>(i) + 1, loops.end()};
  return loops;
}

/// Gives the scope one more buffer and the copy at the site; `change` is made to its blocks.
void insert_copy(State& state, const GlobalVar& function, const BlockRealize* scope, const Site& site, const Stmt& nest,
                 const Buffer& extra, const std::function<Stmt(const BlockRealize*)>& change) {
  auto with_nest = [&](const Stmt& body) {
    std::vector<Stmt> parts = parts_of(body);
    for (Stmt& part : parts) part = map_blocks(part, change);
    parts.insert(parts.begin() + static_cast<long>(site.position), nest);
    return sequence(parts);
  };
  BlockNode block(*scope->block);
  block.body = site.loop ? rewrite(
                               block.body,
                               [&](Rewriter& self, const For* loop) -> Stmt {
                                 if (loop == site.loop) return with(loop, &For::body, with_nest(loop->body));
                                 return self.children(loop);
                               },
                               [&](const BlockRealize* realize) -> Stmt { return change(realize); })
                         : with_nest(block.body);
  block.alloc_buffers.push_back(extra);
  state.replace(function, Stmt(scope), with(scope, &BlockRealize::block, make(std::move(block))));
}

/// Tells the analyzer what the loops around the site run through.
void bind_outside(const Place& place, const Site& site, arith::Analyzer& analyzer) {
  size_t inside = loops_inside(place, site).size();
  std::vector<const For*> loops = place.loops();
  for (size_t i = 0; i + inside < loops.size(); ++i) analyzer.bind(loops[i]->loop_var, range_of(loops[i]));
}

/// What the block writes inside the site, which must be all of the box: a copy back would write the rest too.
Array<arith::IntSet> written_box(const Place& writer, const BufferRegion& write, const Site& site,
                                 arith::Analyzer& analyzer) {
  require_domain_guard(writer);
  Array<arith::IntSet> box = exact_box(writer, write, loops_inside(writer, site), analyzer);
  bool is_known = box.defined();
  for (size_t i = 0; is_known && !is_one(writer.realize()->predicate) && i < box.size(); ++i) {
    arith::IntSet inside = domain_box(writer, write->region[i], analyzer);
    is_known = !inside.is_nothing();
    if (is_known) box.set(i, arith::intersect_sets({box[i], inside}, &analyzer));
  }
  if (is_known) return box;
  throw Refusal(writer.block()) << "it cannot be shown that block " << quoted(writer.block()->name_hint)
                                << " writes all of " << write->buffer->name << " between the first and the last "
                                << "element; the copy would overwrite the others";
}

bool are_covered(const State& state, const GlobalVar& function, const std::vector<Place>& readers) {
  for (const Place& reader : readers)
    if (!is_region_covered(state.find(State::ref(function, reader.block())))) return false;
  return true;
}

/// Refuses the copy where it would come too early or be read too late; `before` tells whether all was well without it.
void require_covered(const State& state, const BlockRef& copy, bool before) {
  std::string why_not;
  if (before && !is_covered_around(state.find(copy), &why_not))
    throw Error(ScheduleError) << "there is no place for a copy: " << why_not;
}

}  // namespace

/// cache_read(C, 0, "shared"):   C[i] = f(A[i])   =>   A_shared[v] = A[v]; C[i] = f(A_shared[i])
/// The copy stands just behind the block that writes A, inside the loops it shares with readers; first in the scope where
/// none does. All readers of the scope, or the `consumers` named, read the copy.
BlockRef cache_read(State& state, const BlockRef& ref, int buffer_index, const String& scope_name,
                    const std::vector<BlockRef>& consumers) {
  Place place = state.find(ref);
  Buffer buffer = buffer_at(place.block(), buffer_index, false);
  require_scope(scope_name);
  const BlockRealize* scope = require_scope_of(place);
  std::vector<const BlockNode*> wanted;
  for (const BlockRef& consumer : consumers) wanted.push_back(state.find(consumer).block());
  std::vector<Place> readers, writers;
  for (const Place& other : blocks_below(scope->block->body, ref.function)) {
    if (writes_buffer(other.block(), buffer)) writers.push_back(other);
    if (writers.size() > 1)
      throw Refusal({Stmt(writers[0].block()), Stmt(writers[1].block())})
          << "buffer " << buffer->name << " is written by more than one block";
    if (!reads_buffer(other.block(), buffer)) continue;
    bool is_named = consumers.empty();
    for (const BlockNode* reader : wanted) is_named |= reader == other.block();
    if (is_named) readers.push_back(other);
  }
  size_t early = 0;  // readers that run before the writer: they want a copy of what was there before
  for (const Place& reader : readers) early += !writers.empty() && stands_before(reader, writers[0], scope);
  if (early > 0 && early < readers.size())
    throw Refusal(writers[0].block()) << "buffer " << buffer->name << " is read before and after block "
                                      << quoted(writers[0].block()->name_hint)
                                      << " writes it; say by consumer_blocks which of them read the copy";
  Site site = writers.empty() || early > 0 ? Site() : site_behind(writers[0], readers, scope);
  arith::Analyzer analyzer;
  if (site.loop) bind_outside(writers[0], site, analyzer);
  Array<arith::IntSet> box;
  for (const Place& reader : readers) {
    if (!writers.empty() && reader.block() == writers[0].block())
      throw Refusal(reader.block()) << "block " << quoted(reader.block()->name_hint) << " reads and writes "
                                    << buffer->name << ", so that what it reads cannot be copied before";
    for (const BufferRegion& read : reader.block()->reads)
      if (read->buffer.same_as(buffer))
        box = hull(box, touched(reader, read, loops_inside(reader, site), analyzer), analyzer);
  }
  bool was_covered = are_covered(state, ref.function, readers);
  Buffer fresh = with_scope(buffer, scope_name);
  Stmt nest = copy_nest(buffer, fresh, fresh->name, ranges_of(box, buffer, analyzer));
  BlockRef out = State::ref(ref.function, block_of(nest));
  insert_copy(state, ref.function, scope, site, nest, fresh, [&](const BlockRealize* realize) -> Stmt {
    for (const Place& reader : readers)
      if (reader.block() == realize->block.get()) return replace_buffer(Stmt(realize), buffer, fresh);
    return Stmt(realize);
  });
  require_covered(state, out, was_covered);
  return out;
}

/// cache_write(C, 0, "local"):   C[i] = f(i)   =>   C_local[i] = f(i); C[v] = C_local[v]
/// The copy stands right behind the block, inside the loops that it shares with those that read C.
BlockRef cache_write(State& state, const BlockRef& ref, int buffer_index, const String& scope_name) {
  Place place = state.find(ref);
  Buffer buffer = buffer_at(place.block(), buffer_index, true);
  require_scope(scope_name);
  const BlockRealize* scope = require_scope_of(place);
  const BlockNode* writer = place.block();
  if (!writer->init && reads_buffer(writer, buffer))
    throw Refusal(writer) << "block " << quoted(writer->name_hint) << " adds to what " << buffer->name
                          << " holds already, which a copy would begin without; cache_write before blockize or "
                          << "decompose_reduction";
  std::vector<Place> readers;
  Place self;
  for (const Place& other : blocks_below(scope->block->body, ref.function)) {
    if (other.block() == writer) self = other;
    else if (writes_buffer(other.block(), buffer))
      throw Refusal({Stmt(writer), Stmt(other.block())})
          << "buffer " << buffer->name << " is written by more than one block";
    else if (reads_buffer(other.block(), buffer)) readers.push_back(other);
  }
  Site site = site_behind(self, readers, scope);
  arith::Analyzer analyzer;
  bind_outside(self, site, analyzer);
  Array<arith::IntSet> box;
  for (const BufferRegion& write : writer->writes)
    if (write->buffer.same_as(buffer)) box = hull(box, written_box(self, write, site, analyzer), analyzer);
  bool was_covered = are_covered(state, ref.function, readers);
  Buffer fresh = with_scope(buffer, scope_name);
  Stmt nest = copy_nest(fresh, buffer, fresh->name, ranges_of(box, buffer, analyzer));
  BlockRef out = State::ref(ref.function, block_of(nest));
  insert_copy(state, ref.function, scope, site, nest, fresh, [&](const BlockRealize* realize) -> Stmt {
    return realize->block.get() == writer ? replace_buffer(Stmt(realize), buffer, fresh) : Stmt(realize);
  });
  require_covered(state, out, was_covered);
  return out;
}

}  // namespace tessera::schedule
