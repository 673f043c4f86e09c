// A block that reduces over a loop bound to a thread becomes three: each thread reduces its part, the threads combine
// their results, and one of them writes the answer back.
//
//   for ko, ki in grid(4, thread(32)): block B: B[i] = 0 at first; B[i] += A[i, ko*32 + ki]
//     =>  for ki in thread(32):
//           in_thread_B[0] = 0
//           for ko in range(4): in_thread_B[0] += A[i, ko*32 + ki]
//           tvm_thread_allreduce(1, in_thread_B[0], True, cross_thread_B[0], ki)
//           block B_write_back where ki == 0: B[i] = cross_thread_B[0]
//
// The loops of the reduction stand directly around the block, with nothing between them.

#include "ir/builtin.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

/// Loops one directly inside the other, down to one block.
struct Nest {
  std::vector<const For*> loops;
  const BlockRealize* realize = nullptr;
};

Nest nest_from(const For* loop) {
  Nest out;
  for (;;) {
    out.loops.push_back(loop);
    if (auto* inner = loop->body.as<For>()) {
      loop = inner;
      continue;
    }
    out.realize = loop->body.as<BlockRealize>();
    return out;
  }
}

bool is_bound_to_thread(const For* loop) {
  return loop->kind == LoopKind::ThreadBinding && loop->thread_binding->thread_tag.str().starts_with("threadIdx");
}

bool reduces_over(const BlockRealize* realize, const For* loop) {
  const BlockNode* block = realize->block.get();
  for (size_t i = 0; i < realize->iter_values.size(); ++i)
    if (block->iter_vars[i]->iter_type == IterType::CommReduce && uses_var(realize->iter_values[i], loop->loop_var))
      return true;
  return false;
}

/// `target = combine(target, value)`, for the combinations that have an identity.
struct Update {
  CommReducer combiner;
  PrimExpr value;
};

template <class T>
bool match(const BufferStore* store, const PrimExpr& identity, Update* out) {
  auto* op = store->value.as<T>();
  if (!op) return false;
  auto is_target = [&](const PrimExpr& e) {
    auto* load = e.as<BufferLoad>();
    bool same = load && load->buffer.same_as(store->buffer) && load->indices.size() == store->indices.size();
    for (size_t i = 0; same && i < store->indices.size(); ++i) same = deep_equal(load->indices[i], store->indices[i]);
    return same;
  };
  if (!is_target(op->a) && !is_target(op->b)) return false;
  out->value = is_target(op->a) ? op->b : op->a;
  DataType dtype = store->value.dtype();
  Var x = make_var("x", dtype), y = make_var("y", dtype);
  CommReducerNode node;
  node.lhs = {x};
  node.rhs = {y};
  node.result = {make_binary<T>(x, y)};
  node.identity_element = {identity};
  out->combiner = make(std::move(node));
  return true;
}

BufferRegion one_element(const Buffer& buffer) {
  return make(BufferRegionNode{.buffer = buffer, .region = {make_range(0, 1)}});
}

Stmt realize(BlockNode block, Array<PrimExpr> values, PrimExpr predicate) {
  return make(BlockRealize{
      .iter_values = std::move(values), .predicate = std::move(predicate), .block = make(std::move(block))});
}

class ReductionLowerer {
 public:
  ReductionLowerer() {
    rewriter_.share_results(false);
    rewriter_.on([this](const For* loop) -> Stmt {
      Nest nest = nest_from(loop);
      if (!nest.realize || !reduces_over(nest.realize, loop)) return rewriter_.children(loop);
      bool crosses = false;
      for (const For* inner : nest.loops)
        crosses = crosses || (is_bound_to_thread(inner) && reduces_over(nest.realize, inner));
      return crosses ? lower(nest) : Stmt(rewriter_.children(loop));
    });
    rewriter_.on([this](const BlockNode* block) -> Stmt {
      std::vector<Buffer> outer = std::exchange(memory_, {});
      Ref<BlockNode> out = rewriter_.children(block);
      for (const Buffer& buffer : memory_) {
        Array<Buffer> all = out->alloc_buffers;
        all.push_back(buffer);
        out = with(out, &BlockNode::alloc_buffers, all);
      }
      memory_ = std::move(outer);
      return out;
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  static Update update_of(const BlockNode* block) {
    auto* init = block->init.as<BufferStore>();
    auto* store = block->body.as<BufferStore>();
    Update out;
    bool matches = init && store &&
                   (match<Add>(store, init->value, &out) || match<Mul>(store, init->value, &out) ||
                    match<Min>(store, init->value, &out) || match<Max>(store, init->value, &out));
    if (!matches)
      throw Error(ValueError) << "block " << block->name_hint
                              << " reduces over a loop bound to a thread, but it is not "
                              << "`B[...] = B[...] op value` with op one of +, *, min and max";
    return out;
  }

  Stmt lower(const Nest& nest) {
    const BlockNode* block = nest.realize->block.get();
    std::string name = block->name_hint.str();
    Update update = update_of(block);
    auto* store = block->body.as<BufferStore>();
    PrimExpr identity = update.combiner->identity_element[0];
    DataType dtype = store->value.dtype();
    Buffer partial = decl_buffer({1}, dtype, "in_thread_" + store->buffer->name.str(), "local");
    Buffer result = decl_buffer({1}, dtype, "cross_thread_" + store->buffer->name.str(), "local");
    memory_.push_back(partial);
    memory_.push_back(result);

    std::vector<const For*> threads, serial;
    Array<PrimExpr> reduced;
    PrimExpr is_first = bool_imm(true);
    for (const For* loop : nest.loops) {
      bool is_thread = is_bound_to_thread(loop), is_reduced = reduces_over(nest.realize, loop);
      if (!is_thread && !is_reduced)
        throw Error(ValueError) << "block " << name << " reduces across threads, and its loop " << loop->loop_var->name
                                << " stands inside of the reduction without being part of it; reorder it outside";
      (is_thread ? threads : serial).push_back(loop);
      if (is_thread && is_reduced) {
        reduced.push_back(loop->loop_var);
        is_first = logical_and(is_first, equal(loop->loop_var, loop->min));
      }
    }
    Stmt body = sequence({start(name, partial, identity), in_thread(nest, serial, partial, update),
                          across(name, partial, result, update, reduced), write_back(nest, result, is_first)});
    for (size_t i = threads.size(); i-- > 0;) body = with(threads[i], &For::body, body);
    return body;
  }

  static Stmt start(const std::string& name, const Buffer& partial, const PrimExpr& identity) {
    BlockNode block;
    block.name_hint = name + "_in_thread_init";
    block.writes = {one_element(partial)};
    block.body = make(BufferStore{.buffer = partial, .value = identity, .indices = {0}});
    return realize(std::move(block), {}, bool_imm(true));
  }

  /// The block itself, with the thread's own element in place of its target.
  static Stmt in_thread(const Nest& nest, const std::vector<const For*>& serial, const Buffer& partial,
                        const Update& update) {
    BlockNode block(*nest.realize->block.get());
    block.name_hint = block.name_hint.str() + "_in_thread";
    block.init = nullptr;
    PrimExpr value = (*update.combiner)({make_load(partial, {0})}, {update.value})[0];
    block.body = make(BufferStore{.buffer = partial, .value = value, .indices = {0}});
    block.writes = {one_element(partial)};
    Array<BufferRegion> reads;
    for (const BufferRegion& region : block.reads) reads.push_back(region);
    reads.push_back(one_element(partial));
    block.reads = reads;
    Stmt body = realize(std::move(block), nest.realize->iter_values, nest.realize->predicate);
    for (size_t i = serial.size(); i-- > 0;) body = with(serial[i], &For::body, body);
    return body;
  }

  static Stmt across(const std::string& name, const Buffer& partial, const Buffer& result, const Update& update,
                     const Array<PrimExpr>& reduced) {
    Array<PrimExpr> args{int_imm(DataType::UInt(32), 1), make_load(partial, {0}), bool_imm(true),
                         make_load(result, {0})};
    for (const PrimExpr& thread : reduced) args.push_back(thread);
    PrimExpr call = make_call(DataType::Handle(), builtin::tvm_thread_allreduce(), args);
    BlockNode block;
    block.name_hint = name + "_cross_thread";
    block.reads = {one_element(partial)};
    block.writes = {one_element(result)};
    block.body = make(AttrStmt{.node = update.combiner,
                               .attr_key = attr::kReduceScope,
                               .value = reinterpret(DataType::Handle(), make_zero(DataType::UInt(64))),
                               .body = evaluate(call)});
    return realize(std::move(block), {}, bool_imm(true));
  }

  /// The answer goes where the block would have put it, by one thread, or by all where each has memory of its own.
  static Stmt write_back(const Nest& nest, const Buffer& result, PrimExpr is_first) {
    const BlockNode* from = nest.realize->block.get();
    auto* store = from->body.as<BufferStore>();
    BlockNode block;
    block.name_hint = from->name_hint.str() + "_write_back";
    Array<PrimExpr> values;
    Map<Var, PrimExpr> renamed;
    for (size_t i = 0; i < from->iter_vars.size(); ++i) {
      const IterVar& axis = from->iter_vars[i];
      if (axis->iter_type == IterType::CommReduce) continue;
      Var var = make_var(axis->var->name, axis->var->dtype);
      renamed.set(axis->var, var);
      block.iter_vars.push_back(make_iter_var(axis->dom, var, axis->iter_type, axis->thread_tag));
      values.push_back(nest.realize->iter_values[i]);
    }
    Array<PrimExpr> indices;
    Array<Range> region;
    for (const PrimExpr& index : store->indices) {
      indices.push_back(substitute(index, renamed));
      region.push_back(make_range(indices[indices.size() - 1], make_const(index.dtype(), 1)));
    }
    block.reads = {one_element(result)};
    block.writes = {make(BufferRegionNode{.buffer = store->buffer, .region = region})};
    block.body = make(BufferStore{.buffer = store->buffer, .value = make_load(result, {0}), .indices = indices});
    PrimExpr predicate = store->buffer->scope() == "local" ? bool_imm(true) : is_first;
    return realize(std::move(block), values, logical_and(predicate, spatial_guard(nest)));
  }

  /// The part of the block's predicate that does not speak of the reduction.
  static PrimExpr spatial_guard(const Nest& nest) {
    PrimExpr out = bool_imm(true);
    std::vector<PrimExpr> parts{nest.realize->predicate};
    while (!parts.empty()) {
      PrimExpr part = parts.back();
      parts.pop_back();
      if (auto* both = part.as<And>()) {
        parts.push_back(both->b);
        parts.push_back(both->a);
        continue;
      }
      bool is_reduced = false;
      for (const For* loop : nest.loops)
        is_reduced = is_reduced || (reduces_over(nest.realize, loop) && uses_var(part, loop->loop_var));
      if (!is_reduced) out = logical_and(out, part);
    }
    return out;
  }

  Rewriter rewriter_;
  std::vector<Buffer> memory_;  // of the block at hand
};

Stmt lower_cross_thread_reduction(const Stmt& body) { return ReductionLowerer()(body); }

static Globals globals{
    {"tir.transform.LowerCrossThreadReduction",
     [] {
       return prim_func_pass("tir.LowerCrossThreadReduction", [](const PrimFunc& function) {
         return is_from_te(function) ? function : with_body(function, lower_cross_thread_reduction(function->body));
       });
     }},
};

}  // namespace
}  // namespace tessera
