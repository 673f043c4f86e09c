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

#include <algorithm>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/loops/accumulation.h"
#include "tir/loops/conditions.h"
#include "tir/loops/reduction.h"
#include "tir/transform/passes.h"

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

/// What a block reduces across threads, and the memory that each thread has for it.
struct Reduction {
  std::vector<loops::Accumulated> results;
  CommReducer combiner;
  std::vector<Buffer> partial, total;  // of this thread, of all of them; one element for each result
};

/// The rule by which the block combines values, on variables.
CommReducer combiner_of(const std::vector<loops::Accumulated>& results) {
  CommReducerNode node;
  Array<PrimExpr> left, right;
  for (const loops::Accumulated& result : results) {
    Var x = make_var("x", result.value.dtype()), y = make_var("y", result.value.dtype());
    node.lhs.push_back(x);
    node.rhs.push_back(y);
    left.push_back(x);
    right.push_back(y);
    node.identity_element.push_back(result.init);
  }
  node.result = loops::combined(results, left, right);
  return make(std::move(node));
}

Array<PrimExpr> loads(const std::vector<Buffer>& buffers) {
  Array<PrimExpr> out;
  for (const Buffer& buffer : buffers) out.push_back(make_load(buffer, {0}));
  return out;
}

Array<BufferRegion> one_element_each(const std::vector<Buffer>& buffers) {
  Array<BufferRegion> out;
  for (const Buffer& buffer : buffers)
    out.push_back(make(BufferRegionNode{.buffer = buffer, .region = {make_range(0, 1)}}));
  return out;
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
  Reduction reduction_of(const BlockNode* block) {
    Reduction out;
    out.results = loops::match_accumulation(block);
    if (out.results.empty())
      throw Error(ValueError)
          << "block " << block->name_hint << " reduces over a loop bound to a thread, but not by "
          << "`B[...] = B[...] op value` with op one of +, *, min and max, nor by choosing between its "
          << "results and new values all at once";
    const PrimExpr& step = out.results[0].value;
    if ((step.as<Add>() || step.as<Mul>()) && !loops::begins_with_identity(out.results[0]))
      throw Error(ValueError) << "block " << block->name_hint
                              << " reduces over a loop bound to a thread and begins with " << out.results[0].init
                              << ", which every thread would count; begin with " << (step.as<Add>() ? "0" : "1")
                              << " and take it in afterwards";
    out.combiner = combiner_of(out.results);
    for (const loops::Accumulated& result : out.results) {
      const std::string name = result.buffer->name.str();
      out.partial.push_back(decl_buffer({1}, result.value.dtype(), "in_thread_" + name, "local"));
      out.total.push_back(decl_buffer({1}, result.value.dtype(), "cross_thread_" + name, "local"));
      memory_.push_back(out.partial.back());
      memory_.push_back(out.total.back());
    }
    return out;
  }

  Stmt lower(const Nest& nest) {
    const BlockNode* block = nest.realize->block.get();
    std::string name = block->name_hint.str();
    Reduction reduction = reduction_of(block);
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
    Stmt body = sequence({start(name, reduction), in_thread(nest, serial, reduction), across(name, reduction, reduced),
                          write_back(nest, reduction, is_first)});
    for (size_t i = threads.size(); i-- > 0;) body = with(threads[i], &For::body, body);
    return body;
  }

  static Stmt start(const std::string& name, const Reduction& reduction) {
    BlockNode block;
    block.name_hint = name + "_in_thread_init";
    block.writes = one_element_each(reduction.partial);
    std::vector<Stmt> stores;
    for (size_t i = 0; i < reduction.results.size(); ++i)
      stores.push_back(
          make(BufferStore{.buffer = reduction.partial[i], .value = reduction.results[i].init, .indices = {0}}));
    block.body = sequence(stores);
    return realize(std::move(block), {}, bool_imm(true));
  }

  /// The block itself, with the thread's own elements in place of its targets.
  static Stmt in_thread(const Nest& nest, const std::vector<const For*>& serial, const Reduction& reduction) {
    BlockNode block(*nest.realize->block.get());
    block.name_hint = block.name_hint.str() + "_in_thread";
    block.init = nullptr;
    Array<PrimExpr> elements;
    for (const loops::Accumulated& result : reduction.results) elements.push_back(result.element);
    Array<PrimExpr> values = (*reduction.combiner)(loads(reduction.partial), elements);
    block.body = loops::store_together(
        values,
        [&](size_t i, PrimExpr value) -> Stmt {
          return make(BufferStore{.buffer = reduction.partial[i], .value = std::move(value), .indices = {0}});
        },
        [&](const PrimExpr& value, size_t i) {
          bool reads = false;
          walk(value, [&](const BufferLoad* load) { reads |= load->buffer.same_as(reduction.partial[i]); });
          return reads;
        });
    block.writes = one_element_each(reduction.partial);
    Array<BufferRegion> reads = block.reads;
    for (const BufferRegion& region : block.writes) reads.push_back(region);
    block.reads = reads;
    Stmt body = realize(std::move(block), nest.realize->iter_values, nest.realize->predicate);
    for (size_t i = serial.size(); i-- > 0;) body = with(serial[i], &For::body, body);
    return body;
  }

  static Stmt across(const std::string& name, const Reduction& reduction, const Array<PrimExpr>& reduced) {
    Array<PrimExpr> args{int_imm(DataType::UInt(32), static_cast<int64_t>(reduction.results.size()))};
    for (const PrimExpr& part : loads(reduction.partial)) args.push_back(part);
    args.push_back(bool_imm(true));
    for (const PrimExpr& total : loads(reduction.total)) args.push_back(total);
    for (const PrimExpr& thread : reduced) args.push_back(thread);
    PrimExpr call = make_call(DataType::Handle(), builtin::tvm_thread_allreduce(), args);
    BlockNode block;
    block.name_hint = name + "_cross_thread";
    block.reads = one_element_each(reduction.partial);
    block.writes = one_element_each(reduction.total);
    block.body = make(AttrStmt{.node = reduction.combiner,
                               .attr_key = attr::kReduceScope,
                               .value = reinterpret(DataType::Handle(), make_zero(DataType::UInt(64))),
                               .body = evaluate(call)});
    return realize(std::move(block), {}, bool_imm(true));
  }

  /// The answer goes where the block would have put it, by one thread, or by all where each has memory of its own.
  static Stmt write_back(const Nest& nest, const Reduction& reduction, const PrimExpr& is_first) {
    const BlockNode* from = nest.realize->block.get();
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
    block.reads = one_element_each(reduction.total);
    std::vector<Stmt> stores;
    bool is_own = true;  // each thread has memory of its own
    for (size_t r = 0; r < reduction.results.size(); ++r) {
      const loops::Accumulated& result = reduction.results[r];
      Array<PrimExpr> indices;
      Array<Range> region;
      for (const PrimExpr& index : result.indices) {
        indices.push_back(substitute(index, renamed));
        region.push_back(make_range(indices[indices.size() - 1], make_const(index.dtype(), 1)));
      }
      is_own = is_own && result.buffer->scope() == "local";
      block.writes.push_back(make(BufferRegionNode{.buffer = result.buffer, .region = region}));
      stores.push_back(
          make(BufferStore{.buffer = result.buffer, .value = make_load(reduction.total[r], {0}), .indices = indices}));
    }
    block.body = sequence(stores);
    PrimExpr predicate = is_own ? bool_imm(true) : is_first;
    return realize(std::move(block), values, logical_and(predicate, spatial_guard(nest)));
  }

  /// The part of the block's predicate that does not speak of the reduction.
  static PrimExpr spatial_guard(const Nest& nest) {
    return loops::conditions_without(nest.realize->predicate, [&](const VarNode* var) {
      return std::ranges::any_of(
          nest.loops, [&](const For* loop) { return loop->loop_var.get() == var && reduces_over(nest.realize, loop); });
    });
  }

  Rewriter rewriter_;
  std::vector<Buffer> memory_;  // of the block at hand
};

}  // namespace

PrimFunc lower_cross_thread_reduction(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, ReductionLowerer()(function->body));
}

}  // namespace tessera
