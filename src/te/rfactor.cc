// rfactor: one loop of a reduction becomes an axis of partial results.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/dataflow.h"
#include "tir/loops/conditions.h"
#include "tir/loops/factor.h"
#include "tir/loops/reduction.h"

namespace tessera::te {
namespace {

/// What stands in for the reduce axes that `axis` comes from.
struct Factored {
  AxisSet touched;  // among the axes of the operation and the leaves of the stage
  Bounds domains;
  Map<Var, PrimExpr> roots;
  std::vector<PrimExpr> conditions;
};

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

Factored factor(const Stage& stage, const ComputeOp* op, const IterVar& axis) {
  const Relations relations(stage.get());
  Factored out;
  out.touched = touched_by(stage.get(), relations, axis);
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
  size_t ndim = op->axis.size();
  std::optional<size_t> position = loops::factor_position(factor_axis, ndim);
  if (!position)
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
  spatial.insert(*position, make_iter_var(parts.domains[axis], axis->var, IterType::DataPar));
  for (const IterVar& iv : op->reduce_axis)
    if (!parts.touched.count(iv.get())) reduced.push_back(iv);
  for (const IterVar& leaf : stage->leaf_iter_vars)
    if (parts.touched.count(leaf.get()) && !leaf.same_as(axis))
      reduced.push_back(make_iter_var(parts.domains[leaf], leaf->var, leaf->iter_type));
  std::vector<PrimExpr> conditions = parts.conditions;
  conditions.insert(conditions.begin(), reduce->condition);
  PrimExpr condition = loops::all_of(conditions);
  if (!is_one(condition)) condition = likely(condition);
  Array<PrimExpr> bodies = loops::reduce_all(reduce->combiner, substitute(reduce->source, parts.roots), reduced,
                                             substitute(condition, parts.roots));
  Operation factored = compute_op(op->name + ".rf", op->tag, op->attrs, spatial, bodies);

  // What remains: the reduction of the partial results over the new axis.
  IterVar rest = reduce_axis(parts.domains[axis], axis->var->name + ".v");
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
