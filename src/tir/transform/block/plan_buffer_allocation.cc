// Buffers of blocks are allocated at the innermost scope that holds all their uses.
//
// The scope is a block, or the body of a loop, which then becomes a block of its own to hold the allocation. A buffer
// that an iteration reads of what earlier ones wrote stays outside that loop.

#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/access_scope.h"
#include "tir/analysis/block_access.h"
#include "tir/analysis/loop_carried.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class Planner {
 public:
  explicit Planner(const Stmt& body) {
    AccessScopes access = access_scopes(body);
    move_out_of_carrying_loops(body, &access);
    for (const Buffer& buffer : access.allocated) {
      auto scope = access.scopes.find(buffer->data.get());
      if (scope == access.scopes.end()) continue;  // never used: gone
      ICHECK(scope->second) << "buffer " << buffer->name << " is used outside every block";
      at_[scope->second].push_back(buffer);
    }
    rewriter_.share_results(false);
    rewriter_.on([this](const BlockNode* op) -> Stmt {
      BlockNode out(*rewriter_.children(op).get());
      out.alloc_buffers = allocations(op);
      return make(std::move(out));
    });
    rewriter_.on([this](const For* op) -> Stmt {
      Ref<For> out = rewriter_.children(op);
      Array<Buffer> here = allocations(op);
      return here.empty() ? out : with(out, &For::body, opaque_block(out->body, here));
    });
    walk(
        body, [this](const BufferLoad* op) { buffers_.emplace(op->buffer->data.get(), op->buffer); },
        [this](const BufferStore* op) { buffers_.emplace(op->buffer->data.get(), op->buffer); },
        [this](const BufferRegionNode* op) { buffers_.emplace(op->buffer->data.get(), op->buffer); });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Array<Buffer> allocations(const Object* scope) const {
    auto it = at_.find(scope);
    return it == at_.end() ? Array<Buffer>() : Array<Buffer>(it->second);
  }

  /// A block around the body of a loop, which touches what the body touches of memory from outside.
  Stmt opaque_block(const Stmt& body, const Array<Buffer>& buffers) const {
    BlockNode block;
    block.name_hint = "";
    block.body = body;
    block.alloc_buffers = buffers;
    std::unordered_set<const VarNode*> own;
    for (const Buffer& buffer : buffers) own.insert(buffer->data.get());
    walk(body, [&](const BlockNode* inner) {
      for (const Buffer& buffer : inner->alloc_buffers) own.insert(buffer->data.get());
      for (const MatchBufferRegion& match : inner->match_buffers) own.insert(match->buffer->data.get());
    });
    BlockAccess access = block_access(&block, [&](const Var& data) {
      auto it = buffers_.find(data.get());
      return it == buffers_.end() || own.count(data.get()) ? Buffer() : it->second;
    });
    block.reads = access.reads;
    block.writes = access.writes;
    return make(BlockRealize{.iter_values = {}, .predicate = bool_imm(true), .block = make(std::move(block))});
  }

  Rewriter rewriter_;
  std::unordered_map<const Object*, std::vector<Buffer>> at_;
  std::unordered_map<const VarNode*, Buffer> buffers_;  // by pointer, all that the function touches
};

}  // namespace

PrimFunc plan_buffer_allocation(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, Planner(function->body)(function->body));
}

}  // namespace tessera
