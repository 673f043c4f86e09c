// rfactor: one loop of a reduction becomes an axis of partial results.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/dataflow.h"
#include "tir/loops/conditions.h"
#include "tir/loops/factor.h"
#include "tir/loops/reduction.h"

namespace tessera::te {
namespace {

/// The axes of the operation and the leaves of the stage that `axis` is among, shares a loop with, and so on.
AxisSet touched_by(const StageNode* stage, const Relations& relations, const IterVar& axis) {
  const Array<IterVar> roots = root_iter_vars(stage->op.get());
  const Array<IterVar>& leaves = stage->leaf_iter_vars;
  std::vector<AxisMap<int>> below(roots.size());
  for (size_t i = 0; i < roots.size(); ++i) {
    below[i][roots[i].get()] = 1;
    relations.pass_down_flags(&below[i]);
  }
  loops::FactoredAxes parts =
      loops::factor_axes(roots.size(), leaves.size(), leaf_position(stage, axis),
                         [&](size_t root, size_t leaf) { return below[root].count(leaves[leaf].get()) != 0; });
  AxisSet out;
  for (size_t i = 0; i < roots.size(); ++i)
    if (parts.axes[i]) out.insert(roots[i].get());
  for (size_t i = 0; i < leaves.size(); ++i)
    if (parts.loops[i]) out.insert(leaves[i].get());
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
  size_t ndim = op->axis.size();
  std::optional<size_t> position = loops::factor_position(factor_axis, ndim);
  if (!position)
    throw Error(ValueError) << "rfactor: factor_axis is " << factor_axis << ", but the factored tensor of "
                            << stage_name(stage.get()) << " has " << ndim + 1 << " axes";
  const Relations relations(stage.get());
  const AxisSet touched = touched_by(stage.get(), relations, axis);
  for (const IterVar& iv : op->axis)
    if (touched.count(iv.get()))
      throw Error(RuntimeError) << "rfactor: Factor axis touches normal axis " << iv->var->name << " of stage "
                                << stage_name(stage.get());
  std::vector<IterVar> factored_axes;
  Array<IterVar> spatial = op->axis, reduced;
  for (const IterVar& iv : op->reduce_axis) {
    if (touched.count(iv.get())) factored_axes.push_back(iv);
    else reduced.push_back(iv);
  }
  OverLeaves over = over_leaves(stage.get(), relations, factored_axes, [](const IterVar& leaf) { return leaf->var; });
  Map<Var, PrimExpr> roots;
  for (const IterVar& iv : factored_axes) roots.set(iv->var, over.values.at(iv.get()));

  for (const IterVar& iv : op->axis)
    if (uses_var(over.domains[axis]->extent, iv->var))
      throw Error(RuntimeError) << "rfactor: the extent of " << axis->var->name << " of stage "
                                << stage_name(stage.get()) << " depends on " << iv->var->name
                                << ", so there is no tensor with that axis; split it and factor the inner part";

  // The factored operation: `axis` becomes spatial, the other loops it came with become reduce axes of their own.
  spatial.insert(*position, make_iter_var(over.domains[axis], axis->var, IterType::DataPar));
  for (const IterVar& leaf : stage->leaf_iter_vars)
    if (touched.count(leaf.get()) && !leaf.same_as(axis))
      reduced.push_back(make_iter_var(over.domains[leaf], leaf->var, leaf->iter_type));
  std::vector<PrimExpr> conditions = over.conditions;
  conditions.insert(conditions.begin(), reduce->condition);
  PrimExpr condition = loops::all_of(conditions);
  if (!is_one(condition)) condition = likely(condition);
  Array<PrimExpr> bodies =
      loops::reduce_all(reduce->combiner, substitute(reduce->source, roots), reduced, substitute(condition, roots));
  Operation factored = compute_op(op->name + ".rf", op->tag, op->attrs, spatial, bodies);

  // What remains: the reduction of the partial results over the new axis.
  IterVar rest = reduce_axis(over.domains[axis], axis->var->name + ".v");
  Array<Tensor> out;
  for (int i = 0; i < num_outputs(factored.get()); ++i) out.push_back(output(factored, i));
  Array<Tensor> replacement = compute_many(
      tensor->shape,
      [&](const Array<PrimExpr>& indices) {
        Array<PrimExpr> at = loops::with_factor(indices, *position, rest->var), sources;
        for (const Tensor& part : out) sources.push_back(load(part, at));
        return loops::reduce_all(reduce->combiner, sources, {rest}, bool_imm(true));
      },
      op->name + ".repl");
  replace_stage_op(sch, stage, replacement[0]->op);
  insert_stage(sch, factored, stage, Side::Before);
  return out;
}

}  // namespace tessera::te
