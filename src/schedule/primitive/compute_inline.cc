#include <unordered_set>

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/primitives.h"
#include "schedule/rebuffer.h"

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

Map<Var, PrimExpr> values_of(const std::vector<Var>& vars, const Array<PrimExpr>& indices) {
  Map<Var, PrimExpr> out;
  for (size_t i = 0; i < vars.size(); ++i) out.set(vars[i], indices[i]);
  return out;
}

/// The scope without the buffer, and without the block and the loops that ran only it.
void drop_block(State& state, const BlockRef& ref, const Buffer& buffer) {
  Place place = state.find(ref);
  size_t top = place.path.size() - 1;
  while (top > 0 && place.path[top - 1].as<For>()) --top;
  state.replace(ref.function, place.path[top], Stmt());
  Stmt body = rewrite(state.function(ref.function)->body, [&](Rewriter& self, const BlockNode* node) -> Block {
    Block block = self.children(node);
    Array<Buffer> kept;
    for (const Buffer& allocated : block->alloc_buffers)
      if (!allocated.same_as(buffer)) kept.push_back(allocated);
    return kept.size() == block->alloc_buffers.size() ? block : with(block, &BlockNode::alloc_buffers, kept);
  });
  state.set_body(ref.function, body);
}

}  // namespace

/// compute_inline(B):   B[i] = f(i); C[j] = g(B[e(j)])   =>   C[j] = g(f(e(j)))
/// Requires: B is complete, one store indexed by its own variables, into a buffer that only blocks of its scope read.
void compute_inline(State& state, const BlockRef& ref) {
  Place place = state.find(ref);
  const BlockNode* block = place.block();
  if (is_output(place)) throw Error(ScheduleError) << "The block " << quoted(block->name_hint) << " is an output block";
  const BufferStore* store = only_store(block);
  std::string why_not;
  if (!is_complete(place, &why_not))
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " is not complete: " << why_not;
  Buffer buffer = store->buffer;
  std::vector<Var> vars = index_vars(store->indices, block);
  PrimExpr value = store->value;

  Block self_block(block);
  Stmt body = rewrite(state.function(ref.function)->body, [&](Rewriter& self, const BlockNode* node) -> Block {
    if (node == self_block.get() || !uses_var(node->body, [](const VarNode*) { return true; })) return Block(node);
    Block outer = self.children(node);
    if (!reads_buffer(node, buffer)) return outer;
    Block changed = rewrite(outer, [&](Rewriter& inner, const BufferLoad* load) -> PrimExpr {
      auto visited = inner.children(load);
      if (!visited->buffer.same_as(buffer)) return PrimExpr(visited.get());
      return substitute(value, values_of(vars, visited->indices));
    });
    return with_found_reads(changed);
  });
  state.set_body(ref.function, body);
  drop_block(state, ref, buffer);
}

/// reverse_compute_inline(C):   B[e(i)] = f(i); C[j] = g(B[j], j)   =>   C[e(i)] = g(f(i), e(i))
/// Requires: C is complete and reads B by its own variables; its only producer is complete and has no other consumer.
void reverse_compute_inline(State& state, const BlockRef& ref) {
  Place place = state.find(ref);
  const BlockNode* consumer = place.block();
  const BufferStore* store = only_store(consumer);
  std::string why_not;
  if (!is_complete(place, &why_not))
    throw Error(ScheduleError) << "block " << quoted(consumer->name_hint) << " is not complete: " << why_not;
  std::vector<BlockRef> producers = get_producers(state, ref);
  if (producers.size() != 1 || get_consumers(state, producers[0]).size() != 1 ||
      !is_complete(state.find(producers[0])) || is_output(state.find(producers[0])))
    throw Error(ScheduleError) << "The consumer block " << quoted(consumer->name_hint)
                               << " to be inlined is required to have only a single producer block, and the producer "
                                  "block should be a complete block who has only a single consumer";
  Place producer = state.find(producers[0]);
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
