#include "schedule/rebuffer.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "tir/analysis/block_access.h"

namespace tessera::schedule {

namespace {

/// Numbers, variables and sums and products of them.
bool is_plain(const PrimExpr& e) {
  if (e.as<VarNode>() || e.as<IntImm>()) return true;
  bool is_plain_too = false;
  auto both = [&]<class T>(const T* node) {
    if (node) is_plain_too = is_plain(node->a) && is_plain(node->b);
    return node != nullptr;
  };
  [[maybe_unused]] bool known = both(e.as<Add>()) || both(e.as<Sub>()) || both(e.as<Mul>()) || both(e.as<FloorDiv>()) ||
                                both(e.as<FloorMod>()) || both(e.as<LT>()) || both(e.as<LE>()) || both(e.as<And>());
  return is_plain_too;
}

}  // namespace

bool mentions(const BlockRealize* realize, const Buffer& buffer) {
  const BlockNode* block = realize->block.get();
  auto has = [&](const Array<BufferRegion>& regions) {
    for (const BufferRegion& region : regions)
      if (region->buffer.same_as(buffer) || region->buffer->data.same_as(buffer->data)) return true;
    return false;
  };
  for (const Buffer& allocated : block->alloc_buffers)
    if (allocated.same_as(buffer)) return true;
  if (block->iter_vars.empty() || has(block->reads) || has(block->writes) || !is_plain(realize->predicate)) return true;
  for (const PrimExpr& value : realize->iter_values)
    if (!is_plain(value)) return true;
  return false;
}

Stmt replace_buffer(const Stmt& stmt, const Buffer& old, const Buffer& fresh) {
  return rewrite(
      stmt,
      [&](Rewriter& self, const BlockRealize* realize) -> Stmt {
        return mentions(realize, old) ? self.children(realize) : Ref<BlockRealize>(realize);
      },
      [&](Rewriter& self, const BufferLoad* node) -> PrimExpr {
        auto load = self.children(node);
        return load->buffer.same_as(old) ? PrimExpr(with(load, &BufferLoad::buffer, fresh)) : PrimExpr(load.get());
      },
      [&](Rewriter& self, const BufferStore* node) -> Stmt {
        auto store = self.children(node);
        return store->buffer.same_as(old) ? Stmt(with(store, &BufferStore::buffer, fresh)) : Stmt(store);
      },
      [&](Rewriter& self, const BufferRegionNode* node) -> BufferRegion {
        auto region = self.children(node);
        return region->buffer.same_as(old) ? with(region, &BufferRegionNode::buffer, fresh) : region;
      },
      [&](const VarNode* var) -> PrimExpr { return var == old->data.get() ? PrimExpr(fresh->data) : PrimExpr(var); },
      [&](Rewriter& self, const BlockNode* node) -> Block {
        Block block = self.children(node);
        Array<Buffer> buffers;
        for (const Buffer& buffer : block->alloc_buffers) buffers.push_back(buffer.same_as(old) ? fresh : buffer);
        for (const Buffer& buffer : block->alloc_buffers)
          if (buffer.same_as(old)) return with(block, &BlockNode::alloc_buffers, buffers);
        return block;
      });
}

Buffer with_scope(const Buffer& buffer, const String& scope) {
  BufferNode node(*buffer);
  std::string suffix = scope.str();
  for (char& c : suffix)
    if (c == '.') c = '_';
  node.name = buffer->name + "_" + suffix;
  Buffer plain = decl_buffer(buffer->shape, buffer->dtype, node.name, scope);
  node.data = plain->data;
  return make(std::move(node));
}

const BlockRealize* require_allocated(const Cursor& cursor, const Buffer& buffer) {
  for (const Stmt& stmt : cursor.path)
    if (auto* realize = stmt.as<BlockRealize>())
      for (const Buffer& allocated : realize->block->alloc_buffers)
        if (allocated.same_as(buffer)) return realize;
  throw Error(ScheduleError) << "The input buffer " << buffer->name
                             << " is not allocated by a block: it is a function parameter or defined in `match_buffer`";
}

Block with_found_reads(const Block& block) {
  std::vector<Buffer> known, own, seen_through;
  walk(
      block, [&](const BufferLoad* load) { known.push_back(load->buffer); },
      [&](const BufferStore* store) { known.push_back(store->buffer); },
      [&](const BlockNode* inner) {
        for (const Buffer& buffer : inner->alloc_buffers) own.push_back(buffer);
        for (const MatchBufferRegion& match : inner->match_buffers) {
          own.push_back(match->buffer);
          seen_through.push_back(match->source->buffer);
        }
      });
  auto is_in = [](const std::vector<Buffer>& list, const Buffer& buffer) {
    return std::any_of(list.begin(), list.end(), [&](const Buffer& other) { return other.same_as(buffer); });
  };
  BlockAccess access = block_access(block.get(), [&](const Var& data) {
    for (const Buffer& buffer : known)
      if (buffer->data.same_as(data) && !is_in(own, buffer)) return buffer;
    return Buffer();
  });
  Array<BufferRegion> reads = access.reads;
  for (const BufferRegion& read : block->reads) {
    bool is_found = false;
    for (const BufferRegion& found : reads) is_found |= found->buffer.same_as(read->buffer);
    if (!is_found && is_in(seen_through, read->buffer)) reads.push_back(read);
  }
  return with(block, &BlockNode::reads, reads);
}

}  // namespace tessera::schedule
