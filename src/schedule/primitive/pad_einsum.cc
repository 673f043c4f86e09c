#include <unordered_map>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "tir/remap.h"

namespace tessera::schedule {
namespace {

bool is_zero_of_any_type(const PrimExpr& e) {
  auto* number = e.as<FloatImm>();
  return number ? number->value == 0 : is_zero(e);
}

/// The dimensions of a buffer are axes of the einsum, so they grow with them.
struct Operand {
  Buffer buffer, fresh;
  Array<PrimExpr> axes;
};

class Einsum {
 public:
  Einsum(State& state, const BlockRef& ref, const std::vector<int>& padding)
      : state_(state), ref_(ref), padding_(padding), cursor_(state.find(ref)) {}

  void run() {
    check_block();
    find_operands();
    const BlockRealize* scope = require_scope_of(cursor_);
    for (auto& [key, operand] : operands_) require_allocated_in(scope, operand);
    std::vector<Stmt> parts = statements_of(scope);
    for (Stmt& part : parts) part = padded(part, scope);
    BlockNode block(*scope->block);
    block.body = sequence(parts);
    for (size_t i = 0; i < block.alloc_buffers.size(); ++i)
      if (auto found = operands_.find(block.alloc_buffers[i].get()); found != operands_.end())
        block.alloc_buffers.set(i, found->second.fresh);
    state_.replace(ref_.function, Stmt(scope), with(scope, &BlockRealize::block, make(std::move(block))));
  }

 private:
  int padding_of(const PrimExpr& axis) const {
    const BlockNode* block = cursor_.block();
    for (size_t i = 0; i < block->iter_vars.size(); ++i)
      if (block->iter_vars[i]->var.same_as(axis)) return padding_[i];
    return 0;
  }

  void check_block() {
    const BlockNode* block = cursor_.block();
    if (padding_.size() != block->iter_vars.size())
      throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " has " << block->iter_vars.size()
                                 << " axes, so it takes as many paddings, not " << padding_.size();
    for (int amount : padding_)
      if (amount < 0) throw Error(ScheduleError) << "a padding cannot be negative: " << amount;
    require_own_loops(cursor_);
    std::string why_not;
    if (!is_reduction(cursor_, &why_not))
      throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " is not an einsum: " << why_not;
    auto* init = block->init.as<BufferStore>();
    auto* store = block->body.as<BufferStore>();
    auto* sum = store ? store->value.as<Add>() : nullptr;
    auto* current = sum ? sum->a.as<BufferLoad>() : nullptr;
    if (!init || !is_zero_of_any_type(init->value) || !current || !current->buffer.same_as(store->buffer))
      throw Error(ScheduleError) << "block " << quoted(block->name_hint)
                                 << " is not an einsum: it must be a sum C[...] += e that begins with 0";
    for (size_t i = 0; i < padding_.size(); ++i)
      if (padding_[i] && block->iter_vars[i]->iter_type == IterType::CommReduce &&
          !vanishes_with(sum->b, block->iter_vars[i]->var))
        throw Error(ScheduleError) << "what block " << quoted(block->name_hint) << " sums does not become 0 where axis "
                                   << block->iter_vars[i]->var->name << " is padded; it must be a product of operands";
  }

  /// True when the product is 0 wherever operands indexed by `axis` are.
  static bool vanishes_with(const PrimExpr& e, const Var& axis) {
    if (auto* product = e.as<Mul>()) return vanishes_with(product->a, axis) || vanishes_with(product->b, axis);
    if (auto* converted = e.as<Cast>()) return vanishes_with(converted->value, axis);
    if (auto* load = e.as<BufferLoad>())
      for (const PrimExpr& index : load->indices)
        if (index.same_as(axis)) return true;
    return false;
  }

  void find_operands() {
    auto meet = [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
      auto [entry, is_new] = operands_.try_emplace(buffer.get(), Operand{buffer, {}, indices});
      for (size_t i = 0; i < indices.size(); ++i)
        if (!indices[i].as<VarNode>() || !indices[i].same_as(entry->second.axes[i]))
          throw Error(ScheduleError) << "block " << quoted(cursor_.block()->name_hint) << " indexes " << buffer->name
                                     << " by " << indices[i] << "; an einsum indexes its operands by its axes, each in "
                                     << "one way";
    };
    for (const Stmt& stmt : {cursor_.block()->body, cursor_.block()->init})
      walk(
          stmt, [&](const BufferLoad* load) { meet(load->buffer, load->indices); },
          [&](const BufferStore* store) { meet(store->buffer, store->indices); });
    for (auto it = operands_.begin(); it != operands_.end();) {
      Operand& operand = it->second;
      Array<PrimExpr> shape;
      bool grows = false;
      for (size_t i = 0; i < operand.axes.size(); ++i) {
        int amount = padding_of(operand.axes[i]);
        grows |= amount > 0;
        shape.push_back(operand.buffer->shape[i] + amount);
      }
      operand.fresh =
          decl_buffer(shape, operand.buffer->dtype, operand.buffer->name + "_padded", operand.buffer->scope());
      it = grows ? std::next(it) : operands_.erase(it);
    }
  }

  void require_allocated_in(const BlockRealize* scope, const Operand& operand) {
    for (const Buffer& buffer : scope->block->alloc_buffers)
      if (buffer.same_as(operand.buffer)) return;
    throw Error(ScheduleError) << "operand " << operand.buffer->name << " of block "
                               << quoted(cursor_.block()->name_hint)
                               << " is not allocated by the block around, so it cannot grow; "
                               << (writes_buffer(cursor_.block(), operand.buffer) ? "cache_write" : "cache_read")
                               << " it first";
  }

  /// A statement of the scope with operands, their producers and the einsum grown.
  Stmt padded(const Stmt& part, const BlockRealize* scope) {
    Stmt out = part;
    for (const Cursor& below : blocks_below(part, ref_.function)) {
      const BlockNode* block = below.block();
      bool is_einsum = block == cursor_.block();
      const Operand* written = nullptr;
      for (const BufferRegion& write : block->writes)
        if (auto found = operands_.find(write->buffer.get()); found != operands_.end()) written = &found->second;
      if (!is_einsum && !written) continue;
      Cursor cursor = state_.find(State::ref(ref_.function, block));
      ICHECK(cursor.scope() == scope) << "blocks_below finds blocks of the scope";
      if (!is_einsum) require_copy(cursor, *written);
      out = grown(cursor, part, is_einsum ? nullptr : written);
    }
    for (const auto& [key, operand] : operands_) out = replace_buffer(out, operand.buffer, operand.fresh);
    return out;
  }

  void require_copy(const Cursor& cursor, const Operand& operand) {
    require_own_loops(cursor);
    auto* store = cursor.block()->body.as<BufferStore>();
    bool is_copy = store && is_complete(cursor) && store->indices.size() == cursor.block()->iter_vars.size();
    for (size_t i = 0; is_copy && i < store->indices.size(); ++i)
      is_copy = store->indices[i].same_as(cursor.block()->iter_vars[i]->var);
    if (!is_copy)
      throw Error(ScheduleError) << "block " << quoted(cursor.block()->name_hint) << ", which writes "
                                 << operand.buffer->name << ", must write each of its elements once, at its axes";
  }

  /// The nest of a block over larger axes; a producer writes 0 where its operand is padding.
  Stmt grown(const Cursor& cursor, const Stmt& part, const Operand* produced) {
    const BlockNode* block = cursor.block();
    BlockNode fresh(*block);
    PrimExpr is_inside = bool_imm(true);
    std::unordered_map<const Object*, PrimExpr> extents;  // by loop variable
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      const IterVar iter = block->iter_vars[i];
      int amount = produced ? padding_of(produced->axes[i]) : padding_[i];
      if (!amount) continue;
      PrimExpr extent = iter->dom->extent + amount;
      extents[cursor.realize()->iter_values[i].get()] = extent;
      fresh.iter_vars.set(i, with(iter, &IterVarNode::dom, make_range(iter->dom->min, extent)));
      is_inside = logical_and(is_inside, iter->var < iter->dom->min + iter->dom->extent);
    }
    if (produced) {
      auto* store = block->body.as<BufferStore>();
      PrimExpr zero = make_zero(store->value.dtype());
      fresh.body = with(store, &BufferStore::value, if_then_else(is_inside, store->value, zero));
    }
    Block fresh_block = make(std::move(fresh));
    return rewrite(
        part,
        [&](Rewriter& self, const For* node) -> Stmt {
          auto loop = self.children(node);
          auto found = extents.find(node->loop_var.get());
          return found == extents.end() ? Stmt(loop) : Stmt(with(loop, &For::extent, found->second));
        },
        [&](const BlockRealize* realize) -> Stmt {
          return realize->block.get() == block ? Stmt(with(realize, &BlockRealize::block, fresh_block)) : Stmt(realize);
        });
  }

  State& state_;
  BlockRef ref_;
  std::vector<int> padding_;
  Cursor cursor_;
  std::unordered_map<const BufferNode*, Operand> operands_;
};

}  // namespace

/// pad_einsum(C, [0, 1, 1]):   for i, j, k: C[i, j] += A[i, k] * B[k, j]
///                         =>  the same over axes longer by 0, 1, 1, of operands grown alike: A_padded[i, k] is 0 where
/// k is padding. Blocks that write the operands run over the new elements too; those that read C read the old ones.
/// Requires: a sum of products over axes bound to loops of their own; operands that grow are allocated in the scope.
void pad_einsum(State& state, const BlockRef& ref, const std::vector<int>& padding) {
  Einsum(state, ref, padding).run();
}

}  // namespace tessera::schedule
