#include <unordered_set>

#include "arith/region_bound.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/primitive_error.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"
#include "schedule/scope.h"

namespace tessera::schedule {
namespace {

/// The one store that is the whole body of the block.
const BufferStore* only_store(const BlockNode* block) {
  auto* store = block->body.as<BufferStore>();
  if (!store || block->init)
    throw Error(ScheduleError) << "block " << quoted(block->name_hint)
                               << (block->init ? " has an init statement" : " is not a single store")
                               << ", so it cannot be inlined";
  return store;
}

/// The indices as the block's own variables, each different; anything else cannot be solved for them.
std::vector<Var> index_vars(const Array<PrimExpr>& indices, const BlockNode* block) {
  std::vector<Var> vars;
  std::unordered_set<const Object*> seen;
  for (const PrimExpr& index : indices) {
    auto* var = index.as<VarNode>();
    if (!var || !seen.insert(var).second)
      throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " is indexed by " << index
                                 << ", not by a variable of its own, so it cannot be inlined";
    vars.push_back(Var(var));
  }
  return vars;
}

/// Indices of another type (read from a tensor of int64, say) take the variable's.
Map<Var, PrimExpr> values_of(const std::vector<Var>& vars, const Array<PrimExpr>& indices) {
  Map<Var, PrimExpr> out;
  for (size_t i = 0; i < vars.size(); ++i) out.set(vars[i], cast(vars[i]->dtype, indices[i]));
  return out;
}

/// The scope without the buffer, and without the block and the loops that ran only it.
void drop_block(State& state, const BlockRef& ref, const Buffer& buffer) {
  Cursor cursor = state.find(ref);
  BlockRef scope_ref = State::ref(ref.function, cursor.scope()->block.get());
  size_t top = cursor.path.size() - 1;
  while (top > 0 && cursor.path[top - 1].as<For>()) --top;
  state.replace(ref.function, cursor.path[top], Stmt());
  Cursor scope = state.find(scope_ref);
  Array<Buffer> kept;
  for (const Buffer& allocated : scope.block()->alloc_buffers)
    if (!allocated.same_as(buffer)) kept.push_back(allocated);
  Block block = with(scope.block(), &BlockNode::alloc_buffers, kept);
  state.replace(ref.function, scope.stmt(), with(scope.realize(), &BlockRealize::block, block));
}

/// Every variable of the block that `value` uses is told by the index of the element.
void require_told(const BlockNode* block, const PrimExpr& value, const std::vector<Var>& told) {
  for (const IterVar& iter : block->iter_vars) {
    bool is_told = !uses_var(value, iter->var);
    for (const Var& var : told) is_told |= var.same_as(iter->var);
    if (!is_told)
      throw PrimitiveError(block) << "block " << quoted(block->name_hint) << " computes with its axis "
                                  << iter->var->name
                                  << ", which does not index what it writes, so it cannot be inlined";
  }
}

/// No access to the buffer is left: one through its address or a view of it cannot be inlined.
void require_gone(const State& state, const BlockRef& scope, const std::vector<BlockRef>& consumers,
                  const Buffer& buffer) {
  auto check = [&](bool is_left) {
    if (is_left)
      throw Error(ScheduleError) << "buffer " << buffer->name << " is accessed through its address or through "
                                 << "match_buffer, so the block that writes it cannot be inlined";
  };
  auto check_in = [&](const Stmt& stmt, bool enters_blocks) {
    pre_order(stmt, [&](const Object* node) {
      if (auto* load = cast_or_null<BufferLoad>(node)) check(load->buffer.same_as(buffer));
      if (auto* store = cast_or_null<BufferStore>(node)) check(store->buffer.same_as(buffer));
      if (auto* match = cast_or_null<MatchBufferRegionNode>(node)) check(match->source->buffer.same_as(buffer));
      check(node == buffer->data.get());
      auto* realize = cast_or_null<BlockRealize>(node);
      return enters_blocks || !realize || mentions(realize, buffer);
    });
  };
  check_in(state.find(scope).stmt(), false);
  for (const BlockRef& consumer : consumers) check_in(state.find(consumer).stmt(), true);
}

/// The producer writes exactly the elements that the consumer reads, so that each run of it is one of the consumer's.
void require_same_domain(const BlockNode* producer, const BufferStore* source, const BlockNode* consumer,
                         const std::vector<Var>& vars) {
  arith::Analyzer analyzer;
  Map<Var, Range> domains;
  for (const IterVar& iter : producer->iter_vars) domains.set(iter->var, iter->dom);
  Array<Range> written;
  for (const PrimExpr& index : source->indices) written.push_back(make_range(index, make_const(index.dtype(), 1)));
  Array<arith::IntSet> box = arith::estimate_region_strict_bound(written, domains, bool_imm(true), &analyzer);
  for (size_t i = 0; i < vars.size(); ++i)
    for (const IterVar& iter : consumer->iter_vars) {
      if (!iter->var.same_as(vars[i])) continue;
      PrimExpr last = iter->dom->min + iter->dom->extent - 1;
      if (!box.defined() || !analyzer.can_prove_equal(box[i].min(), iter->dom->min) ||
          !analyzer.can_prove_equal(box[i].max(), last))
        throw PrimitiveError({Stmt(producer), Stmt(consumer)})
            << "block " << quoted(consumer->name_hint) << " does not run for exactly the elements of "
            << source->buffer->name << " that block " << quoted(producer->name_hint) << " writes";
    }
}

}  // namespace

/// compute_inline(B):   B[i] = f(i); C[j] = g(B[e(j)])   =>   C[j] = g(f(e(j)))
/// Requires: B is complete, one store indexed by its own variables, into a buffer that only blocks of its scope read.
void compute_inline(State& state, const BlockRef& ref) {
  Cursor cursor = state.find(ref);
  const BlockNode* block = cursor.block();
  if (is_output(cursor))
    throw Error(ScheduleError) << "The block " << quoted(block->name_hint) << " is an output block";
  const BufferStore* store = only_store(block);
  std::string why_not;
  if (!is_complete(cursor, &why_not))
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " is not complete: " << why_not;
  require_domain_guard(cursor);
  require_stage(cursor);
  Buffer buffer = store->buffer;
  std::vector<Var> vars = index_vars(store->indices, block);
  PrimExpr value = store->value;
  require_told(block, value, vars);

  Block self_block(block);
  BlockRef scope = State::ref(ref.function, cursor.scope()->block.get());
  std::vector<BlockRef> consumers = get_consumers(state, ref);
  Stmt changed = rewrite(
      Stmt(cursor.scope()),
      [&](Rewriter& self, const BlockRealize* realize) -> Stmt {
        return mentions(realize, buffer) ? self.children(realize) : Ref<BlockRealize>(realize);
      },
      [&](Rewriter& self, const BlockNode* node) -> Block {
        if (node == self_block.get()) return Block(node);
        Block outer = self.children(node);
        if (!reads_buffer(node, buffer)) return outer;
        Block inlined = rewrite(outer, [&](Rewriter& inner, const BufferLoad* load) -> PrimExpr {
          auto visited = inner.children(load);
          if (!visited->buffer.same_as(buffer)) return PrimExpr(visited.get());
          return substitute(value, values_of(vars, visited->indices));
        });
        return with_found_reads(inlined);
      });
  State::Snapshot before = state.snapshot();
  try {
    state.replace(ref.function, Stmt(cursor.scope()), changed);
    drop_block(state, ref, buffer);
    require_gone(state, scope, consumers, buffer);
    for (const BlockRef& consumer : consumers)
      if (!is_region_covered(state.find(consumer), &why_not))
        throw Error(ScheduleError) << "block " << quoted(self_block->name_hint) << " cannot be inlined: " << why_not;
  } catch (const Error&) {
    state.restore(before);
    throw;
  }
}

/// reverse_compute_inline(C):   B[e(i)] = f(i); C[j] = g(B[j], j)   =>   C[e(i)] = g(f(i), e(i))
/// Requires: C is complete and reads B by its own variables; its only producer is complete and has no other consumer.
void reverse_compute_inline(State& state, const BlockRef& ref) {
  Cursor cursor = state.find(ref);
  const BlockNode* consumer = cursor.block();
  const BufferStore* store = only_store(consumer);
  std::string why_not;
  if (!is_complete(cursor, &why_not))
    throw Error(ScheduleError) << "block " << quoted(consumer->name_hint) << " is not complete: " << why_not;
  std::vector<BlockRef> producers = get_producers(state, ref);
  if (producers.size() != 1 || get_consumers(state, producers[0]).size() != 1 ||
      !is_complete(state.find(producers[0])) || is_output(state.find(producers[0])))
    throw Error(ScheduleError) << "The consumer block " << quoted(consumer->name_hint)
                               << " to be inlined is required to have only a single producer block, and the producer "
                                  "block should be a complete block who has only a single consumer";
  require_stage(cursor);
  require_domain_guard(cursor);
  Cursor producer = state.find(producers[0]);
  require_domain_guard(producer);
  const BufferStore* source = only_store(producer.block());
  Buffer buffer = source->buffer;

  std::vector<Var> vars;
  walk(store->value, [&](const BufferLoad* load) {
    if (load->buffer.same_as(buffer) && vars.empty()) vars = index_vars(load->indices, consumer);
  });
  for (const IterVar& iter : consumer->iter_vars) {
    bool is_solved = is_one(iter->dom->extent);
    for (const Var& var : vars) is_solved |= var.same_as(iter->var);
    if (!is_solved)
      throw Error(ScheduleError) << "block " << quoted(consumer->name_hint) << " reads " << buffer->name
                                 << " without its axis " << iter->var->name << ", so it cannot be inlined";
  }
  require_same_domain(producer.block(), source, consumer, vars);
  Map<Var, PrimExpr> values = values_of(vars, source->indices);
  for (const IterVar& iter : consumer->iter_vars)
    if (!values.count(iter->var)) values.set(iter->var, iter->dom->min);
  PrimExpr value = rewrite(store->value, [&](Rewriter& self, const BufferLoad* node) -> PrimExpr {
    auto load = self.children(node);
    if (!load->buffer.same_as(buffer)) return PrimExpr(load.get());
    for (size_t i = 0; i < vars.size(); ++i)
      if (!load->indices[i].same_as(vars[i]))
        throw Error(ScheduleError) << "block " << quoted(consumer->name_hint) << " reads several elements of "
                                   << buffer->name;
    return source->value;
  });
  // The producer's value is its own already: only the consumer's variables are replaced.
  Array<PrimExpr> indices;
  for (const PrimExpr& index : store->indices) indices.push_back(substitute(index, values));
  Array<BufferRegion> writes;
  for (const BufferRegion& write : consumer->writes) writes.push_back(substitute(write, values));
  BlockNode fused(*producer.block());
  fused.body = make(BufferStore{.buffer = store->buffer, .value = substitute(value, values), .indices = indices});
  fused.writes = writes;
  Block block = with_found_reads(make(std::move(fused)));
  state.replace(ref.function, producer.stmt(), with(producer.realize(), &BlockRealize::block, block));
  drop_block(state, ref, buffer);
}

}  // namespace tessera::schedule
