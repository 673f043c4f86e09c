// Making schedules, finding stages in them, copying them.

#include "te/schedule.h"

#include <unordered_map>

#include "runtime/registry.h"

namespace tessera::te {

std::string stage_name(const StageNode* stage) { return stage->op ? stage->op->name.str() : std::string("group"); }

Stage make_stage(const Operation& op) {
  StageNode node;
  node.op = op;
  node.origin_op = op;
  node.all_iter_vars = root_iter_vars(op.get());
  for (const IterVar& iv : node.all_iter_vars)
    if (iv->iter_type != IterType::Opaque) node.leaf_iter_vars.push_back(iv);
  return make(std::move(node));
}

Schedule create_schedule(const Array<Operation>& outputs) {
  Schedule sch = make(ScheduleNode{});
  sch.edit()->outputs = outputs;
  for (const Operation& op : post_order_operations(outputs)) {
    Stage stage = make_stage(op);
    for (const Operation& out : outputs)
      if (out.same_as(op)) stage.edit()->is_output = true;
    sch.edit()->stages.push_back(stage);
    sch.edit()->stage_map.set(op, stage);
  }
  for (const Stage& stage : sch->stages) {
    auto* scan = stage->op.as<ScanOp>();
    if (!scan) continue;
    Array<Tensor> inputs = scan->state_placeholder;
    for (const Tensor& tensor : scan->inputs) inputs.push_back(tensor);
    Stage body = create_group(sch, scan->update, inputs, false);
    body.edit()->attach_type = AttachType::ScanUpdate;
    body.edit()->attach_ivar = scan->scan_axis;
    body.edit()->attach_stage = stage;
  }
  return sch;
}

Stage stage_of(const Schedule& sch, const Operation& op) {
  if (Stage stage = sch->stage_map.get_or_null(op)) return stage;
  for (const Stage& stage : sch->stages)
    if (stage->op.same_as(op)) return stage;
  std::string names;
  for (const Stage& stage : sch->stages) names += (names.empty() ? "" : ", ") + stage_name(stage.get());
  throw Error(ValueError) << "Cannot find the operation " << op->name << " in schedule; its stages are " << names;
}

Stage attach_spec(const Stage& stage) {
  Stage spec = stage;
  while (spec->attach_type == AttachType::GroupRoot && spec->group) spec = spec->group;
  return spec;
}

const IterVarAttrNode* attr_of(const StageNode* stage, const IterVar& iv) {
  return stage->iter_var_attrs.get_or_null(iv).get();
}

IterVar bound_thread(const StageNode* stage, const IterVar& iv) {
  auto* attr = attr_of(stage, iv);
  return attr ? attr->bind_thread : nullptr;
}

size_t leaf_position(const StageNode* stage, const IterVar& iv) {
  for (size_t i = 0; i < stage->leaf_iter_vars.size(); ++i)
    if (stage->leaf_iter_vars[i].same_as(iv)) return i;
  std::string leaves;
  for (const IterVar& leaf : stage->leaf_iter_vars) leaves += (leaves.empty() ? "" : ", ") + leaf->var->name.str();
  for (const IterVar& any : stage->all_iter_vars)
    if (any.same_as(iv))
      throw Error(RuntimeError) << "stage " << stage_name(stage) << ": axis " << iv->var->name
                                << " has already been split or fused; its loops are " << leaves;
  throw Error(RuntimeError) << "stage " << stage_name(stage) << ": axis " << iv->var->name
                            << " is not part of this stage; its loops are " << leaves;
}

Schedule copy_schedule(const Schedule& sch) {
  std::unordered_map<const StageNode*, Stage> copies;
  auto copy_all = [&](const Array<Stage>& stages) {
    Array<Stage> out;
    for (const Stage& stage : stages) {
      Stage copy = make(StageNode(*stage));
      copies[stage.get()] = copy;
      out.push_back(copy);
    }
    return out;
  };
  ScheduleNode node;
  node.outputs = sch->outputs;
  node.program = sch->program;
  node.stages = copy_all(sch->stages);
  node.groups = copy_all(sch->groups);
  for (const auto& [from, to] : copies) {
    if (to->attach_stage) to.edit()->attach_stage = copies.at(to->attach_stage.get());
    if (to->group) to.edit()->group = copies.at(to->group.get());
  }
  for (const auto& [op, stage] : sch->stage_map) node.stage_map.set(op, copies.at(stage.get()));
  return make(std::move(node));
}

namespace {

register_types<OperationNode, TensorNode, PlaceholderOp, ComputeOp, ScanOp, ExternOp, HybridOp, TensorComputeOp,
               TensorIntrinNode, TensorIntrinCallNode>
    operations;
register_types<IterVarRelationNode, Split, Fuse, Rebase, Singleton, IterVarAttrNode, StageNode, ScheduleNode> schedules;

Globals schedule_globals{
    {"te.CreateSchedule", create_schedule},
    {"te.ScheduleGetItem", stage_of},
    {"te.ScheduleNormalize", normalize},
    {"te.ScheduleCopy", copy_schedule},
    {"te.ScheduleCreateGroup", create_group},
    {"te.ScheduleCacheRead", cache_read},
    {"te.ScheduleCacheWrite",
     [](Schedule sch, Any tensors, String scope) -> ObjectRef {
       if (auto* one = cast_or_null<TensorNode>(tensors.object())) return cache_write(sch, {Tensor(one)}, scope)[0];
       return cache_write(sch, tensors.to<Array<Tensor>>(), scope);
     }},
    {"te.ScheduleRFactor", rfactor},
};

}  // namespace
}  // namespace tessera::te
