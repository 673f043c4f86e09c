// Primitives that add tensors to the graph: caches of what is read and of what is written.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/dataflow.h"
#include "te/tensor_compute.h"

namespace tessera::te {

Tensor cache_read(const Schedule& sch, const Tensor& tensor, const String& scope, const Array<Operation>& readers) {
  Stage source = stage_of(sch, tensor->op);
  Tensor original = output(source->op, tensor->value_index);
  Tensor cache = compute(
      original->shape, [&](const Array<PrimExpr>& i) { return load(original, i); },
      tensor_name(tensor.get()) + "." + scope.str());
  Replacements replaced;
  for (const Operation& consumer : readers) {
    Stage stage = stage_of(sch, consumer);
    Operation changed = replace_inputs(
        stage->op, [&](const Tensor& read) { return same_tensor(read.get(), original.get()) ? cache : Tensor(); });
    if (changed.same_as(stage->op))
      throw Error(ValueError) << "cache_read: Cannot find " << tensor_name(tensor.get()) << " in the inputs of "
                              << stage_name(stage.get());
    replaced.set(stage->op, changed);
    stage.edit()->op = changed;
  }
  replace_dataflow(sch, &replaced);
  Stage stage = insert_stage(sch, cache->op, source, Side::After);
  stage.edit()->scope = scope;
  return cache;
}

namespace {

/// The bodies of `op` over the leaves of its stage in place of its axes, and the axes they become.
struct Relayout {
  Array<IterVar> axis;
  Array<PrimExpr> bodies;
  Array<PrimExpr> consumer_indices;  // where an element of the original lies, in terms of its axes
};

/// The reduce axes; those whose domain mentions an axis of `op` become new ones over what stands for it.
Array<IterVar> over_new_axes(const ComputeOp* op, Map<Var, PrimExpr>* roots) {
  Array<IterVar> out;
  for (const IterVar& iv : op->reduce_axis) {
    Range domain = make_range(substitute(iv->dom->min, *roots), substitute(iv->dom->extent, *roots));
    if (domain->min.same_as(iv->dom->min) && domain->extent.same_as(iv->dom->extent)) {
      out.push_back(iv);
      continue;
    }
    IterVar moved = make_iter_var(domain, make_var(iv->var->name, iv->var->dtype), iv->iter_type, iv->thread_tag);
    roots->set(iv->var, moved->var);
    out.push_back(moved);
  }
  return out;
}

Relayout relayout(const Stage& stage, const ComputeOp* op) {
  const Relations relations(stage.get());
  Relayout out;
  AxisMap<Var> vars;
  OverLeaves over = over_leaves(stage.get(), relations, op->axis.vec(), [&](const IterVar& leaf) {
    return vars[leaf.get()] = make_var(leaf->var->name + ".c", leaf->var->dtype);
  });
  AxisSet reduce_axes;
  for (const IterVar& iv : op->reduce_axis) reduce_axes.insert(iv.get());
  std::vector<IterVar> leaves;
  for (const IterVar& leaf : stage->leaf_iter_vars) {
    if (reduce_axes.count(leaf.get())) continue;
    if (leaf->iter_type != IterType::DataPar || !over.domains.count(leaf))
      throw Error(RuntimeError) << "cache_write: stage " << stage_name(stage.get())
                                << " can only be laid out by data parallel loops; " << leaf->var->name
                                << " is not one. Call cache_write before splitting reduce axes";
    out.axis.push_back(make_iter_var(over.domains[leaf], vars.at(leaf.get()), leaf->iter_type));
    leaves.push_back(leaf);
  }

  Map<Var, PrimExpr> roots;
  AxisMap<PrimExpr> down;
  for (const IterVar& iv : op->axis) {
    roots.set(iv->var, over.values.at(iv.get()));
    down[iv.get()] = iv->var;
  }
  Array<IterVar> reduce_axis = over_new_axes(op, &roots);
  out.bodies = rewrite_compute_bodies(op, [&](const PrimExpr& body) {
    PrimExpr moved = only_inside(over.conditions, substitute(body, roots));
    auto* reduce = moved.as<Reduce>();
    if (!reduce) return moved;
    Reduce out(*reduce);
    out.axis = reduce_axis;
    out.combiner = with(reduce->combiner, &CommReducerNode::identity_element,
                        substitute(reduce->combiner->identity_element, roots));
    return PrimExpr(make(std::move(out)));
  });
  relations.pass_down_indices(over.domains, &down, Axes::Known);
  for (const IterVar& leaf : leaves) out.consumer_indices.push_back(down.at(leaf.get()));
  return out;
}

/// What an instruction computes goes to the cache; a plain compute copies it out.
Array<Tensor> cache_tensor_compute(const Schedule& sch, const Stage& stage, const String& scope) {
  auto* op = stage->op.as<TensorComputeOp>();
  if (!stage->relations.empty())
    throw Error(NotImplementedError) << "cache_write: the axes of stage " << stage_name(stage.get())
                                     << ", which an instruction computes, are split; call cache_write first";
  TensorComputeOp moved(*op);
  moved.name = op->name + "." + scope.str();
  Map<Var, PrimExpr> vars;
  Array<IterVar> axis;
  for (const IterVar& iv : op->axis) {
    axis.push_back(make_iter_var(iv->dom, make_var(iv->var->name + ".c", iv->var->dtype), iv->iter_type));
    vars.set(iv->var, axis.back()->var);
  }
  moved.axis = axis;
  moved.scalar_inputs = substitute(op->scalar_inputs, vars);
  Array<ObjectRef> regions;
  for (const ObjectRef& region : op->input_regions) regions.push_back(substitute(downcast<Array<Range>>(region), vars));
  moved.input_regions = regions;
  Operation cache = make(std::move(moved));
  Array<PrimExpr> indices, copies;
  for (const IterVar& iv : op->axis) indices.push_back(iv->var);
  Array<Tensor> out;
  for (int i = 0; i < tensor_compute_outputs(op); ++i) {
    out.push_back(output(cache, i));
    copies.push_back(load(out.back(), indices));
  }
  replace_stage_op(sch, stage, compute_op(op->name, op->tag, op->attrs, op->axis, copies));
  Stage cache_stage = insert_stage(sch, cache, stage, Side::Before);
  cache_stage.edit()->scope = scope;
  return out;
}

}  // namespace

Array<Tensor> cache_write(const Schedule& sch, const Array<Tensor>& tensors, const String& scope) {
  if (tensors.empty()) throw Error(ValueError) << "cache_write needs a tensor";
  Stage stage = stage_of(sch, tensors[0]->op);
  for (const Tensor& tensor : tensors)
    if (!tensor->op.same_as(tensors[0]->op))
      throw Error(ValueError) << "cache_write: all tensors must be outputs of one operation, but "
                              << tensors[0]->op->name << " and " << tensor->op->name << " are two";
  if (stage->op.as<TensorComputeOp>()) return cache_tensor_compute(sch, stage, scope);
  auto* op = stage->op.as<ComputeOp>();
  if (!op)
    throw Error(NotImplementedError) << "cache_write: stage " << stage_name(stage.get()) << " is a "
                                     << stage->op->type_key() << "; only a compute can be cached";
  if (!stage->layout_transforms.empty())
    throw Error(NotImplementedError) << "cache_write: stage " << stage_name(stage.get())
                                     << " has a layout of its own; call cache_write before transform_layout";
  if (static_cast<int>(tensors.size()) != num_outputs(op))
    throw Error(ValueError) << "cache_write: " << op->name << " has " << num_outputs(op)
                            << " outputs; give all of them, as a list";
  Relayout moved = relayout(stage, op);
  Operation cache = compute_op(op->name + "." + scope.str(), op->tag, op->attrs, moved.axis, moved.bodies);
  Array<PrimExpr> copies;
  Array<Tensor> out;
  for (int i = 0; i < num_outputs(op); ++i) {
    out.push_back(output(cache, i));
    copies.push_back(load(out.back(), moved.consumer_indices));
  }
  Operation copy = compute_op(op->name, op->tag, op->attrs, op->axis, copies);
  replace_stage_op(sch, stage, copy);
  Stage cache_stage = insert_stage(sch, cache, stage, Side::Before);
  cache_stage.edit()->scope = scope;
  return out;
}

}  // namespace tessera::te
