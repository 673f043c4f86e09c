// Nests of compute operations: plain, reducing, and reducing across threads.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/nest/nest.h"
#include "te/tensorize.h"
#include "tir/attrs.h"
#include "tir/loops/reduction.h"

namespace tessera::te {
namespace {

using Nest = NestBuilder::Nest;

Array<PrimExpr> store_indices(const Nest& nest, const ComputeOp* op) {
  Array<PrimExpr> out;
  for (const IterVar& iv : op->axis) out.push_back(nest.roots[iv->var]);
  return out;
}

Stmt store_to(NestBuilder& builder, const Stage& stage, size_t i, PrimExpr value, const Array<PrimExpr>& indices) {
  Tensor tensor = builder.target(output(stage->op, static_cast<int>(i)));
  return make(ProducerStore{.producer = tensor, .value = std::move(value), .indices = indices});
}

/// The user's own guard of the stores. It may name threads and any axis of the stage.
void add_store_predicate(const Nest& nest, std::vector<PrimExpr>* guards) {
  if (!nest.stage->store_predicate) return;
  guards->push_back(substitute(nest.stage->store_predicate, [&](const Var& var) -> PrimExpr {
    for (const auto& [axis, value] : nest.values)
      if (axis->var.same_as(var)) return value;
    return nullptr;
  }));
}

std::vector<PrimExpr> main_guards(NestBuilder& builder, const Nest& nest) {
  std::vector<PrimExpr> out = builder.nest_guards(nest, false, {});
  add_store_predicate(nest, &out);
  return out;
}

/// for axes: if guards: out = body
Stmt plain(NestBuilder& builder, const Stage& stage, const ComputeOp* op) {
  Nest nest = builder.make_nest(stage);
  return builder.loops_around(nest, 0, stage->leaf_iter_vars.size(), [&] {
    Array<PrimExpr> indices = store_indices(nest, op);
    std::vector<Stmt> stores;
    for (size_t i = 0; i < op->body.size(); ++i)
      stores.push_back(store_to(builder, stage, i, builder.in_nest(nest, op->body[i]), indices));
    return if_all(main_guards(builder, nest), sequence(stores));
  });
}

Stmt update(NestBuilder& builder, const Nest& nest, const ComputeOp* op, const Reduce* reduce) {
  Array<PrimExpr> indices = store_indices(nest, op), current;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < op->body.size(); ++i) {
    outputs.push_back(builder.target(output(nest.stage->op, static_cast<int>(i))));
    current.push_back(load(outputs[i], indices));
  }
  Reduce placed(*reduce);
  placed.source = builder.in_nest(nest, reduce->source);
  auto store = [&](size_t i, PrimExpr value) { return store_to(builder, nest.stage, i, std::move(value), indices); };
  auto reads = [&](const PrimExpr& value, size_t i) {
    bool found = false;
    walk(value, [&](const ProducerLoad* load) {
      Tensor tensor = downcast<Tensor>(load->producer);
      found = found || same_tensor(tensor.get(), outputs[i].get());
    });
    return found;
  };
  Stmt body = loops::store_together(loops::reduction_step(&placed, current), store, reads);
  if (!is_one(reduce->condition)) body = if_all({builder.in_nest(nest, reduce->condition)}, body);
  return if_all(main_guards(builder, nest), body);
}

/// for shared loops: { for spatial leaves: if spatial guards: out = start; for the rest: if guards: out = step(out) }
Stmt reducing(NestBuilder& builder, const Stage& stage, const ComputeOp* op, const Reduce* reduce) {
  const auto [reduced, reduce_only] = builder.reduced(stage, op->axis, op->reduce_axis);
  size_t count = stage->leaf_iter_vars.size(), begin = 0;
  while (begin < count && !reduced.count(stage->leaf_iter_vars[begin].get())) ++begin;
  Nest main = builder.make_nest(stage);
  return builder.loops_around(main, 0, begin, [&] {
    Nest init = builder.make_nest(stage, NestBuilder::Part::Init, &main, begin, reduce_only);
    Stmt start = builder.loops_around(
        init, begin, count,
        [&] {
          std::vector<Stmt> stores;
          Array<PrimExpr> values = loops::reduction_start(reduce), indices = store_indices(init, op);
          for (size_t i = 0; i < op->body.size(); ++i)
            stores.push_back(store_to(builder, stage, i, builder.in_nest(init, values[i]), indices));
          return if_all(builder.nest_guards(init, false, reduce_only), sequence(stores));
        },
        reduce_only);
    Stmt steps = builder.loops_around(main, begin, count, [&] { return update(builder, main, op, reduce); });
    return sequence({start, steps});
  });
}

/// One call that combines the values of all threads, then a store of the result:
///   allocate reduce_temp; tvm_thread_allreduce(n, value..., guards, temp..., threads...); out = reduce_temp
Stmt across_threads(NestBuilder& builder, const Stage& stage, const ComputeOp* op, const Reduce* reduce) {
  const auto [reduced, reduce_only] = builder.reduced(stage, op->axis, op->reduce_axis);
  size_t count = stage->leaf_iter_vars.size(), local_begin = count;
  Array<PrimExpr> threads;
  for (size_t i = 0; i < count; ++i) {
    IterVar leaf = stage->leaf_iter_vars[i];
    bool is_reduce = reduced.count(leaf.get()) != 0;
    IterVar thread = bound_thread(stage.get(), leaf);
    if (is_reduce && thread) {
      threads.push_back(thread->var);
    } else if (is_reduce) {
      local_begin = std::min(local_begin, i);
    } else if (!threads.empty() || local_begin != count) {
      throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                                << ": Cross thread reduce cannot swap with normal data axis; " << leaf->var->name
                                << " stands inside a reduce loop. Reorder it before them";
    }
  }
  for (size_t i = local_begin; i < count; ++i)
    if (bound_thread(stage.get(), stage->leaf_iter_vars[i]))
      throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << ": the thread-bound reduce axis "
                                << stage->leaf_iter_vars[i]->var->name
                                << " stands inside a serial reduce loop. Reorder it before "
                                << stage->leaf_iter_vars[local_begin]->var->name;

  Nest nest = builder.make_nest(stage);
  auto scratch = [&](size_t i, const char* name) {
    return decl_buffer({1}, op->body[i].dtype(), name + std::to_string(i), "local");
  };
  return builder.loops_around(nest, 0, local_begin, [&] {
    std::vector<PrimExpr> conditions = builder.nest_guards(nest, false, {});
    PrimExpr guard = builder.in_nest(nest, reduce->condition);
    for (const PrimExpr& condition : conditions) guard = is_one(guard) ? condition : logical_and(condition, guard);
    Array<PrimExpr> values = builder.in_nest(nest, reduce->source), first{0};
    std::vector<Buffer> partial, result;
    Stmt local;
    if (local_begin < count) {  // serial reduce loops run in each thread first
      std::vector<Stmt> starts;
      Array<PrimExpr> current, start = loops::reduction_start(reduce);
      for (size_t i = 0; i < op->body.size(); ++i) {
        partial.push_back(scratch(i, "normal_reduce_temp"));
        starts.push_back(
            make(BufferStore{.buffer = partial[i], .value = builder.in_nest(nest, start[i]), .indices = first}));
        current.push_back(make_load(partial[i], first));
      }
      Reduce placed(*reduce);
      placed.source = values;
      Array<PrimExpr> steps = loops::reduction_step(&placed, current);
      Stmt loops = builder.loops_around(nest, local_begin, count, [&] {
        auto store = [&](size_t i, PrimExpr value) -> Stmt {
          return make(BufferStore{.buffer = partial[i], .value = std::move(value), .indices = first});
        };
        auto reads = [&](const PrimExpr& value, size_t i) {
          bool found = false;
          walk(value, [&](const BufferLoad* load) { found = found || load->buffer.same_as(partial[i]); });
          return found;
        };
        Stmt step = loops::store_together(steps, store, reads);
        return is_one(guard) ? step : if_all({guard}, step);
      });
      local = sequence({sequence(starts), loops});
      values = current;
      guard = bool_imm(true);
    }
    Array<PrimExpr> args{make_const(DataType::UInt(32), static_cast<int64_t>(op->body.size()))};
    for (const PrimExpr& value : values) args.push_back(value);
    args.push_back(guard);
    std::vector<Stmt> stores;
    Array<PrimExpr> indices = store_indices(nest, op);
    for (size_t i = 0; i < op->body.size(); ++i) {
      result.push_back(scratch(i, "reduce_temp"));
      args.push_back(make_load(result[i], first));
      stores.push_back(store_to(builder, stage, i, make_load(result[i], first), indices));
    }
    for (const PrimExpr& thread : threads) args.push_back(thread);
    Stmt combine = make(AttrStmt{.node = reduce->combiner,
                                 .attr_key = attr::kReduceScope,
                                 .value = reinterpret(DataType::Handle(), make_zero(DataType::UInt(64))),
                                 .body = evaluate(make_call(DataType::Handle(), "tir.tvm_thread_allreduce", args))});
    std::vector<PrimExpr> store_guards = builder.nest_guards(nest, false, reduce_only);
    add_store_predicate(nest, &store_guards);
    Stmt body = sequence({local, combine, if_all(store_guards, sequence(stores))});
    for (const std::vector<Buffer>& list : {result, partial})
      for (const Buffer& buffer : list) {
        Allocate node;
        node.buffer_var = buffer->data;
        node.dtype = buffer->dtype;
        node.extents = {1};
        node.condition = bool_imm(true);
        node.body = body;
        body = make(std::move(node));
      }
    return body;
  });
}

}  // namespace

Stmt provide_compute(NestBuilder& builder, const Stage& stage) {
  auto* op = stage->op.as<ComputeOp>();
  bool is_across_threads = false;
  const AxisSet reduced = builder.reduced(stage, op->axis, op->reduce_axis).any;
  for (const IterVar& leaf : stage->leaf_iter_vars) {
    auto* attr = attr_of(stage.get(), leaf);
    if (!attr) continue;
    if (attr->iter_type == IterType::Tensorized) return provide_tensorized(builder, stage, leaf);
    if (attr->bind_thread && !is_virtual_thread(attr->bind_thread->thread_tag) && reduced.count(leaf.get()))
      is_across_threads = true;
  }
  const Reduce* reduce = as_reduction(op);
  if (!reduce) return plain(builder, stage, op);
  return is_across_threads ? across_threads(builder, stage, op, reduce) : reducing(builder, stage, op, reduce);
}

}  // namespace tessera::te
