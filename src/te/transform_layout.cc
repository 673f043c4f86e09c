#include "te/transform_layout.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "te/dataflow.h"

namespace tessera::te {
namespace {

static register_types<Transform> transform_layout_types;

const Transform* last_transform(const StageNode* stage) {
  return stage->relations.empty() ? nullptr : stage->relations[stage->relations.size() - 1].as<Transform>();
}

Array<Range> domains_of(const Array<IterVar>& axes) {
  Array<Range> out;
  for (const IterVar& axis : axes) out.push_back(axis->dom);
  return out;
}

/// An index that is an axis keeps its name.
String axis_name(const IndexMap& map, size_t at) {
  auto* var = map->final_indices[at].as<VarNode>();
  return var ? var->name : String("axis" + std::to_string(at));
}

void check_arity(const Stage& stage, const IndexMap& map, size_t dimensions) {
  if (map->initial_indices.size() != dimensions)
    throw Error(ValueError) << "transform_layout: stage " << stage_name(stage.get()) << " has " << dimensions
                            << " axes, the map takes " << map->initial_indices.size();
}

Map<Var, PrimExpr> values_at(const IndexMap& map, const Array<IterVar>& axes) {
  Map<Var, PrimExpr> out;
  for (size_t i = 0; i < axes.size(); ++i) out.set(map->initial_indices[i], axes[i]->var);
  return out;
}

/// The operation over the transformed axes.
Operation over_new_axes(const ComputeOp* op, const Transform* layout) {
  InverseMap inverse =
      non_surjective_inverse_map(layout->forward_transformation, domains_of(layout->original_variables));
  Map<Var, PrimExpr> mapped = values_at(inverse.map, layout->transformed_variables), values;
  for (size_t i = 0; i < op->axis.size(); ++i) {
    const Var& var = op->axis[i]->var;
    values.set(var, cast(var->dtype, substitute(inverse.map->final_indices[i], mapped)));
  }
  std::vector<PrimExpr> conditions;
  if (!is_zero(inverse.padding)) conditions.push_back(logical_not(substitute(inverse.padding, mapped)));
  Array<PrimExpr> bodies = rewrite_compute_bodies(
      op, [&](const PrimExpr& body) { return only_inside(conditions, substitute(body, values)); });
  return compute_op(op->name, op->tag, op->attrs, layout->transformed_variables, bodies);
}

/// Operations of a schedule with other layouts, and their consumers.
class LayoutApplier {
 public:
  void operator()(const Schedule& sch) {
    for (const Stage& stage : sch->stages) {
      Operation before = stage->op, after = reading_new(before);
      StageNode* self = stage.edit();
      if (!stage->layout_transforms.empty()) after = laid_out(self, after);
      self->op = after;
      if (!stage->layout_transforms.empty()) self->origin_op = after;
      if (!after.same_as(before)) replaced_[before.get()] = {before, after, stage->layout_transforms};
    }
    Array<Operation> outputs;
    for (const Operation& op : sch->outputs) {
      auto it = replaced_.find(op.get());
      outputs.push_back(it == replaced_.end() ? op : it->second.after);
    }
    sch.edit()->outputs = outputs;
  }

 private:
  struct Replaced {
    Operation before, after;  // the key is kept alive
    Array<ObjectRef> maps;
  };

  static Operation laid_out(StageNode* stage, const Operation& op) {
    if (auto* placeholder = op.as<PlaceholderOp>()) {
      PlaceholderOp out(*placeholder);
      for (const ObjectRef& map : stage->layout_transforms) out.shape = map_shape(downcast<IndexMap>(map), out.shape);
      return make(std::move(out));
    }
    Operation now = op;
    Array<IterVarRelation> kept;
    for (const IterVarRelation& relation : stage->relations) {
      auto* layout = relation.as<Transform>();
      if (layout) now = over_new_axes(now.as<ComputeOp>(), layout);
      else kept.push_back(relation);
    }
    stage->relations = kept;
    Array<IterVar> axes = root_iter_vars(now.get());
    for (const IterVarRelation& relation : kept) {
      if (auto* split = relation.as<Split>()) axes.push_back(split->outer), axes.push_back(split->inner);
      if (auto* fuse = relation.as<Fuse>()) axes.push_back(fuse->fused);
      if (auto* single = relation.as<Singleton>()) axes.push_back(single->iter);
    }
    stage->all_iter_vars = axes;
    return now;
  }

  Operation reading_new(const Operation& op) {
    auto* compute = op.as<ComputeOp>();
    if (!compute) {
      for (const Tensor& tensor : input_tensors(op.get()))
        if (auto it = replaced_.find(tensor->op.get()); it != replaced_.end() && !it->second.maps.empty())
          throw Error(NotImplementedError) << "transform_layout of " << tensor->op->name << ": " << op->name << ", a "
                                           << op->type_key() << ", reads it and keeps its own order of elements";
      return replace_inputs(op, [&](const Tensor& tensor) {
        auto it = replaced_.find(tensor->op.get());
        return it == replaced_.end() ? Tensor() : output(it->second.after, tensor->value_index);
      });
    }
    Rewriter rewriter;
    rewriter.on([this](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
      Ref<ProducerLoad> inner = self.children(load);
      Tensor tensor = downcast<Tensor>(load->producer);
      auto it = replaced_.find(tensor->op.get());
      if (it == replaced_.end()) return inner;
      Array<PrimExpr> indices = inner->indices;
      for (const ObjectRef& map : it->second.maps) indices = map_indices(downcast<IndexMap>(map), indices);
      return te::load(output(it->second.after, tensor->value_index), indices);
    });
    return with_body(compute, rewrite_compute_bodies(compute, [&](const PrimExpr& e) { return rewriter(e); }));
  }

  std::unordered_map<const OperationNode*, Replaced> replaced_;
};

}  // namespace

Array<IterVar> transform_layout(const Stage& stage, const IndexMap& map, const Array<PrimExpr>& axis_separators) {
  StageNode* self = stage.edit();
  if (auto* placeholder = stage->op.as<PlaceholderOp>()) {
    check_arity(stage, map, placeholder->shape.size());
    self->layout_transforms.push_back(map);
    self->axis_separators = axis_separators;
    return {};
  }
  auto* op = stage->op.as<ComputeOp>();
  if (!op)
    throw Error(NotImplementedError) << "transform_layout: stage " << stage_name(stage.get()) << " is a "
                                     << stage->op->type_key() << "; only a compute and a placeholder can be laid out";
  const Transform* before = last_transform(stage.get());
  Array<IterVar> axes = before ? before->transformed_variables : op->axis;
  check_arity(stage, map, axes.size());
  bool is_whole = stage->leaf_iter_vars.size() == axes.size() + op->reduce_axis.size();
  for (size_t i = 0; is_whole && i < axes.size(); ++i) is_whole = stage->leaf_iter_vars[i].same_as(axes[i]);
  if (!is_whole)
    throw Error(ValueError) << "transform_layout: the loops of stage " << stage_name(stage.get())
                            << " were split, fused or reordered already; lay it out first";
  for (const IterVar& reduce : op->reduce_axis)
    for (const IterVar& axis : axes)
      if (uses_var(reduce->dom->extent, axis->var) || uses_var(reduce->dom->min, axis->var))
        throw Error(NotImplementedError) << "transform_layout: the reduction " << reduce->var->name
                                         << " runs over a range that depends on " << axis->var->name;
  Transform layout;
  layout.original_variables = axes;
  layout.forward_transformation = map;
  layout.inverse_transformation = non_surjective_inverse_map(map, domains_of(axes)).map;
  Array<Range> ranges = map_ranges(map, domains_of(axes));
  for (size_t i = 0; i < ranges.size(); ++i)
    layout.transformed_variables.push_back(
        make_iter_var(ranges[i], make_var(axis_name(map, i), ranges[i]->extent.dtype()), IterType::DataPar));
  Array<IterVar> out = layout.transformed_variables, leaves = out;
  for (size_t i = axes.size(); i < stage->leaf_iter_vars.size(); ++i) leaves.push_back(stage->leaf_iter_vars[i]);
  for (const IterVar& axis : out) self->all_iter_vars.push_back(axis);
  self->leaf_iter_vars = leaves;
  self->relations.push_back(make(std::move(layout)));
  self->layout_transforms.push_back(map);
  self->axis_separators = axis_separators;
  return out;
}

void apply_layouts(const Schedule& sch) {
  for (const Stage& stage : sch->stages)
    if (!stage->layout_transforms.empty()) return LayoutApplier()(sch);
}

static Globals transform_layout_globals{{"te.StageTransformLayout", transform_layout}};

}  // namespace tessera::te
