#include "arith/iter_map/iter_map.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitives.h"

namespace tessera::schedule {
namespace {

/// The indices by which the block touches the buffer; rejected where it does so in more than one way.
Array<PrimExpr> only_access(const BlockNode* block, const Buffer& buffer) {
  Array<PrimExpr> found;
  bool is_found = false;
  arith::Analyzer analyzer;
  auto meet = [&](const Buffer& touched, const Array<PrimExpr>& indices) {
    if (!touched.same_as(buffer)) return;
    for (size_t i = 0; is_found && i < indices.size(); ++i)
      if (!analyzer.can_prove_equal(found[i], indices[i]))
        throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " touches " << buffer->name
                                   << " at several indices: index " << i << " is " << found[i] << " and " << indices[i];
    found = indices;
    is_found = true;
  };
  auto visit = [&](const ObjectRef& root) {
    walk(
        root, [&](const BufferLoad* load) { meet(load->buffer, load->indices); },
        [&](const BufferStore* store) { meet(store->buffer, store->indices); },
        [&](const BlockRealize* inner) {
          throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " has a block inside, "
                                     << quoted(inner->block->name_hint) << "; reindex takes a block without";
        });
  };
  visit(block->body);
  if (block->init) visit(block->init);
  if (!is_found)
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " does not touch " << buffer->name
                               << " by its elements";
  return found;
}

Array<PrimExpr> substituted(const Array<PrimExpr>& list, const Map<Var, PrimExpr>& values) {
  Array<PrimExpr> out;
  for (const PrimExpr& e : list) out.push_back(substitute(e, values));
  return out;
}

/// Every element of `old` in the block is the element `indices` of `fresh`.
Block with_access(const BlockNode* block, const Buffer& old, const Buffer& fresh, const Array<PrimExpr>& indices) {
  return rewrite(
      Block(block),
      [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
        if (load->buffer.same_as(old)) return make_load(fresh, indices);
        return self.children(load);
      },
      [&](Rewriter& self, const BufferStore* node) -> Stmt {
        auto store = self.children(node);
        if (!store->buffer.same_as(old)) return store;
        return make(BufferStore{.buffer = fresh, .value = store->value, .indices = indices});
      },
      [&](const BufferRegionNode* region) -> BufferRegion {
        return region->buffer.same_as(old) ? point_region(fresh, indices) : BufferRegion(region);
      });
}

/// Rejects unless different values of the axes write different elements.
void require_apart(const BlockNode* block, const Buffer& buffer, const Array<PrimExpr>& indices) {
  Map<Var, Range> domains;
  for (const IterVar& iter : block->iter_vars)
    for (const PrimExpr& index : indices)
      if (uses_var(index, iter->var)) domains.set(iter->var, iter->dom);
  arith::Analyzer analyzer;
  auto map = arith::detect_iter_map(indices, domains, bool_imm(true), arith::IterMapLevel::Bijective, &analyzer);
  if (map->indices.size() != indices.size())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " may write an element of " << buffer->name
                               << " in several iterations, so it cannot be reindexed";
}

}  // namespace

/// reindex(C, ("read", 0)):   C[i, j] = f(A[j, i])   =>   A_reindex[i, j] = A[j, i]; C[i, j] = f(A_reindex[i, j])
/// and for a buffer written: the block writes C_reindex, which is copied to C behind it. The new buffer is indexed by
/// the axes of the block that the old indices name, in their order, those of one iteration left out.
BlockRef reindex(State& state, const BlockRef& ref, int buffer_index, bool is_write) {
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  Buffer buffer = buffer_at(block, buffer_index, is_write);
  const BlockRealize* scope = require_scope_of(cursor);
  Array<PrimExpr> indices = only_access(block, buffer);
  require_known_block(cursor);
  if (is_write) require_apart(block, buffer, indices);

  arith::Analyzer analyzer;
  Array<PrimExpr> own_indices, shape;
  Array<Range> domains;
  std::vector<bool> is_kept;
  Map<Var, PrimExpr> units;
  for (const IterVar& iter : block->iter_vars) {
    bool is_named = false;
    for (const PrimExpr& index : indices) is_named |= uses_var(index, iter->var);
    domains.push_back(is_named ? iter->dom : make_range(make_zero(iter->var->dtype), make_const(iter->var->dtype, 1)));
    is_kept.push_back(is_named && !is_one(iter->dom->extent));
    if (!is_kept.back()) units.set(iter->var, domains.back()->min);
    if (!is_kept.back()) continue;
    own_indices.push_back(analyzer.simplify(iter->var - iter->dom->min));
    shape.push_back(iter->dom->extent);
  }
  Buffer fresh = decl_buffer(shape, buffer->dtype, buffer->name + "_reindex", buffer->scope());

  Stmt nest = make_nest(domains, [&](const Array<PrimExpr>& axes) {
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < axes.size(); ++i) values.set(block->iter_vars[i]->var, axes[i]);
    Array<PrimExpr> element, own_at = substituted(own_indices, values);
    for (const PrimExpr& index : indices)
      element.push_back(substitute(analyzer.simplify(substitute(index, units)), values));
    BufferRegion theirs = point_region(buffer, substituted(indices, values)), ours = point_region(fresh, own_at);
    return BlockNode{
        .reads = {is_write ? ours : theirs},
        .writes = {is_write ? theirs : ours},
        .name_hint = fresh->name,
        .body = is_write ? make(BufferStore{.buffer = buffer, .value = make_load(fresh, own_at), .indices = element})
                         : make(BufferStore{.buffer = fresh, .value = make_load(buffer, element), .indices = own_at})};
  });

  std::vector<Stmt> parts = statements_of(scope);
  size_t position = position_of(parts, block);
  if (is_write) {
    for (const Cursor& other : blocks_below(parts[position], ref.function))
      if (other.block() != block && reads_buffer(other.block(), buffer))
        throw Error(ScheduleError) << "block " << quoted(other.block()->name_hint) << " reads " << buffer->name
                                   << " in a loop it shares with block " << quoted(block->name_hint)
                                   << "; reindex before moving it there";
  } else {
    size_t behind = 0;
    for (const Cursor& other : blocks_below(scope->block->body, ref.function))
      if (writes_buffer(other.block(), buffer)) behind = std::max(behind, position_of(parts, other.block()) + 1);
    if (behind > position)
      throw Error(ScheduleError) << buffer->name << " is written in a loop that block " << quoted(block->name_hint)
                                 << " runs in; reindex before moving it there";
  }
  Block changed = with_access(block, buffer, fresh, own_indices);
  for (Stmt& part : parts)
    part = map_blocks(part, [&](const BlockRealize* realize) -> Stmt {
      return realize->block.get() == block ? Stmt(with(realize, &BlockRealize::block, changed)) : Stmt(realize);
    });
  parts.insert(parts.begin() + static_cast<long>(is_write ? position + 1 : position), nest);
  BlockRef out = State::ref(ref.function, block_of(nest));
  set_scope_body(state, ref.function, scope, parts, {fresh});
  return out;
}

}  // namespace tessera::schedule
