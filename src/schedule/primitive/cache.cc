#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "schedule/region.h"

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

}  // namespace

/// cache_read(C, 0, "shared"):   C[i] = f(A[i])   =>   A_shared[v] = A[v]; C[i] = f(A_shared[i])
/// The copy stands just behind the block that writes A, or first in the scope where none does. All readers of the
/// scope, or the `consumers` named, read the copy.
BlockRef cache_read(State& state, const BlockRef& ref, int buffer_index, const String& scope_name,
                    const std::vector<BlockRef>& consumers) {
  Place place = state.find(ref);
  Buffer buffer = buffer_at(place.block(), buffer_index, false);
  require_scope(scope_name);
  const BlockRealize* scope = require_scope_of(place);
  std::vector<const BlockNode*> readers;
  for (const BlockRef& consumer : consumers) readers.push_back(state.find(consumer).block());
  arith::Analyzer analyzer;
  Array<arith::IntSet> box;
  const BlockNode* writer = nullptr;
  for (const Place& other : blocks_below(scope->block->body, ref.function)) {
    if (writes_buffer(other.block(), buffer)) {
      if (writer) throw Error(ScheduleError) << "buffer " << buffer->name << " is written by more than one block";
      writer = other.block();
    }
    if (!reads_buffer(other.block(), buffer)) continue;
    bool is_named = consumers.empty();
    for (const BlockNode* reader : readers) is_named |= reader == other.block();
    if (!is_named) continue;
    if (consumers.empty()) readers.push_back(other.block());
    for (const BufferRegion& read : other.block()->reads)
      if (read->buffer.same_as(buffer)) box = hull(box, touched(other, read, other.loops(), analyzer), analyzer);
  }
  std::vector<Stmt> parts = statements_of(scope);
  size_t position = writer ? position_of(parts, writer) + 1 : 0;
  for (const BlockNode* reader : readers)
    if (position_of(parts, reader) < position)
      throw Error(ScheduleError) << "block " << quoted(reader->name_hint) << " shares a loop with block "
                                 << quoted(writer->name_hint) << ", which writes " << buffer->name
                                 << "; cache_read inside a shared loop is not supported yet";
  Buffer fresh = with_scope(buffer, scope_name);
  Stmt nest = copy_nest(buffer, fresh, fresh->name, ranges_of(box, buffer, analyzer));
  for (Stmt& part : parts)
    part = map_blocks(part, [&](const BlockRealize* realize) -> Stmt {
      for (const BlockNode* reader : readers)
        if (reader == realize->block.get()) return replace_buffer(Stmt(realize), buffer, fresh);
      return Stmt(realize);
    });
  parts.insert(parts.begin() + static_cast<long>(position), nest);
  BlockRef out = State::ref(ref.function, block_of(nest));
  set_scope_body(state, ref.function, scope, parts, {fresh});
  return out;
}

/// cache_write(C, 0, "local"):   C[i] = f(i)   =>   C_local[i] = f(i); C[v] = C_local[v]
BlockRef cache_write(State& state, const BlockRef& ref, int buffer_index, const String& scope_name) {
  Place place = state.find(ref);
  Buffer buffer = buffer_at(place.block(), buffer_index, true);
  require_scope(scope_name);
  const BlockRealize* scope = require_scope_of(place);
  const BlockNode* writer = place.block();
  std::vector<Stmt> parts = statements_of(scope);
  size_t position = position_of(parts, writer);
  for (const Place& other : blocks_below(parts[position], ref.function))
    if (other.block() != writer && reads_buffer(other.block(), buffer))
      throw Error(ScheduleError) << "block " << quoted(other.block()->name_hint) << " reads " << buffer->name
                                 << " in a loop it shares with block " << quoted(writer->name_hint)
                                 << "; cache_write inside a shared loop is not supported yet";
  for (const Place& other : blocks_below(scope->block->body, ref.function))
    if (other.block() != writer && writes_buffer(other.block(), buffer))
      throw Error(ScheduleError) << "buffer " << buffer->name << " is written by more than one block";
  arith::Analyzer analyzer;
  Array<arith::IntSet> box;
  for (const BufferRegion& write : writer->writes)
    if (write->buffer.same_as(buffer)) box = hull(box, touched(place, write, place.loops(), analyzer), analyzer);
  Buffer fresh = with_scope(buffer, scope_name);
  Stmt nest = copy_nest(fresh, buffer, fresh->name, ranges_of(box, buffer, analyzer));
  parts[position] = map_blocks(parts[position], [&](const BlockRealize* realize) -> Stmt {
    return realize->block.get() == writer ? replace_buffer(Stmt(realize), buffer, fresh) : Stmt(realize);
  });
  parts.insert(parts.begin() + static_cast<long>(position) + 1, nest);
  BlockRef out = State::ref(ref.function, block_of(nest));
  set_scope_body(state, ref.function, scope, parts, {fresh});
  return out;
}

}  // namespace tessera::schedule
