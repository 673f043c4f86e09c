// rfactor: one loop of a reduction becomes an axis of partial results.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/dataflow.h"

namespace tessera::te {
namespace {

/// What stands in for the reduce axes that `axis` comes from.
struct Factored {
  AxisMap<int> touched;
  Bounds domains;
  Map<Var, PrimExpr> roots;
  std::vector<PrimExpr> conditions;
};

Factored factor(const Stage& stage, const ComputeOp* op, const IterVar& axis) {
  const Relations relations(stage.get());
  Factored out;
  out.touched[axis.get()] = 1;
  relations.pass_up_flags(&out.touched);
  relations.pass_down_flags(&out.touched);
  for (const IterVar& iv : op->axis)
    if (out.touched.count(iv.get()))
      throw Error(RuntimeError) << "rfactor: Factor axis touches normal axis " << iv->var->name << " of stage "
                                << stage_name(stage.get());
  arith::Analyzer analyzer;
  AxisSet skip;
  for (const IterVar& iv : op->axis) skip.insert(iv.get());
  for (const IterVar& iv : op->reduce_axis) {
    if (!out.touched.count(iv.get())) {
      skip.insert(iv.get());
      continue;
    }
    out.domains.set(iv, iv->dom);
    analyzer.bind(iv->var, iv->dom);
  }
  relations.pass_down_domains(&out.domains, analyzer, Axes::Known);
  AxisMap<PrimExpr> values;
  for (const IterVar& leaf : stage->leaf_iter_vars) {
    if (!out.touched.count(leaf.get())) continue;
    Range range = out.domains[leaf];
    values[leaf.get()] = is_one(range->extent) ? range->min : PrimExpr(leaf->var);
  }
  relations.pass_up_indices(out.domains, &values, Axes::Known);
  for (const IterVar& iv : stage->all_iter_vars)
    if (!values.count(iv.get())) skip.insert(iv.get());
  out.conditions = relations.guards(out.domains, values, true, skip, intervals_of(out.domains), analyzer);
  for (const IterVar& iv : op->reduce_axis)
    if (out.touched.count(iv.get())) out.roots.set(iv->var, values.at(iv.get()));
  return out;
}

}  // namespace

Array<Tensor> rfactor(const Schedule& sch, const Tensor& tensor, const IterVar& axis, int factor_axis) {
  Stage stage = stage_of(sch, tensor->op);
  auto* op = stage->op.as<ComputeOp>();
  const Reduce* reduce = as_reduction(op);
  if (!reduce) throw Error(RuntimeError) << "rfactor: stage " << stage_name(stage.get()) << " does not reduce";
  if (axis->iter_type != IterType::CommReduce)
    throw Error(RuntimeError) << "rfactor: Can only factor reduction axis; " << axis->var->name << " of stage "
                              << stage_name(stage.get()) << " is not one";
  if (!reduce->init.empty())
    throw Error(RuntimeError) << "rfactor: stage " << stage_name(stage.get())
                              << " starts from values of its own (init); it cannot be factored";
  leaf_position(stage.get(), axis);
  int ndim = static_cast<int>(op->axis.size());
  int position = factor_axis >= 0 ? factor_axis : ndim + 1 + factor_axis;
  if (position < 0 || position > ndim)
    throw Error(ValueError) << "rfactor: factor_axis is " << factor_axis << ", but the factored tensor of "
                            << stage_name(stage.get()) << " has " << ndim + 1 << " axes";
  Factored parts = factor(stage, op, axis);

  for (const IterVar& iv : op->axis)
    if (uses_var(parts.domains[axis]->extent, iv->var))
      throw Error(RuntimeError) << "rfactor: the extent of " << axis->var->name << " of stage "
                                << stage_name(stage.get()) << " depends on " << iv->var->name
                                << ", so there is no tensor with that axis; split it and factor the inner part";

  // The factored operation: `axis` becomes spatial, the other loops it came with become reduce axes of their own.
  Array<IterVar> spatial = op->axis, reduced;
  spatial.insert(static_cast<size_t>(position), make_iter_var(parts.domains[axis], axis->var, IterType::DataPar));
  for (const IterVar& iv : op->reduce_axis)
    if (!parts.touched.count(iv.get())) reduced.push_back(iv);
  for (const IterVar& leaf : stage->leaf_iter_vars)
    if (parts.touched.count(leaf.get()) && !leaf.same_as(axis))
      reduced.push_back(make_iter_var(parts.domains[leaf], leaf->var, leaf->iter_type));
  PrimExpr condition = reduce->condition;
  for (const PrimExpr& guard : parts.conditions) condition = is_one(condition) ? guard : logical_and(condition, guard);
  if (!is_one(condition)) condition = likely(condition);
  Reduce partial(*reduce);
  partial.source = substitute(reduce->source, parts.roots);
  partial.condition = substitute(condition, parts.roots);
  partial.axis = reduced;
  Array<PrimExpr> bodies;
  for (size_t i = 0; i < op->body.size(); ++i) {
    partial.value_index = static_cast<int32_t>(i);
    partial.dtype = op->body[i].dtype();
    PrimExpr body = make(Reduce(partial));
    if (reduced.empty()) {  // nothing is left to reduce: each element is itself, or the identity outside the domain
      body = partial.source[i];
      if (!is_one(partial.condition))
        body = if_then_else(partial.condition, body, reduce->combiner->identity_element[i]);
    }
    bodies.push_back(body);
  }
  Operation factored = compute_op(op->name + ".rf", op->tag, op->attrs, spatial, bodies);

  // What remains: the reduction of the partial results over the new axis.
  IterVar rest = reduce_axis(parts.domains[axis], axis->var->name + ".v");
  Array<Tensor> out;
  for (int i = 0; i < num_outputs(factored.get()); ++i) out.push_back(output(factored, i));
  Array<Tensor> replacement = compute_many(
      tensor->shape,
      [&](const Array<PrimExpr>& indices) {
        Array<PrimExpr> at = indices, sources, reductions;
        at.insert(static_cast<size_t>(position), rest->var);
        for (const Tensor& part : out) sources.push_back(load(part, at));
        Reduce total(*reduce);
        total.source = sources;
        total.axis = {rest};
        total.condition = bool_imm(true);
        for (size_t i = 0; i < op->body.size(); ++i) {
          total.value_index = static_cast<int32_t>(i);
          total.dtype = op->body[i].dtype();
          reductions.push_back(make(Reduce(total)));
        }
        return reductions;
      },
      op->name + ".repl");
  replace_stage_op(sch, stage, replacement[0]->op);
  insert_stage(sch, factored, stage, Side::Before);
  return out;
}

}  // namespace tessera::te
