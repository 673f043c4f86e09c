#include "te/dataflow.h"

#include "ir/prim/ops.h"
#include "tir/loops/conditions.h"

namespace tessera::te {

Tensor Replacements::other(const Tensor& tensor) const {
  Operation op = tensor->op;
  for (auto it = map_.find(op.get()); it != map_.end(); it = map_.find(op.get())) op = it->second.second;
  return op.same_as(tensor->op) ? Tensor() : output(op, tensor->value_index);
}

void replace_dataflow(const Schedule& sch, Replacements* replaced) {
  for (const Stage& stage : sch->stages) {
    Operation changed = replace_inputs(stage->op, [&](const Tensor& tensor) { return replaced->other(tensor); });
    if (changed.same_as(stage->op)) continue;
    replaced->set(stage->op, changed);
    stage.edit()->op = changed;
  }
}

void replace_stage_op(const Schedule& sch, const Stage& stage, const Operation& op) {
  Replacements replaced;
  replaced.set(stage->op, op);
  StageNode* self = stage.edit();
  self->op = op;
  replace_dataflow(sch, &replaced);
  self->all_iter_vars = root_iter_vars(op.get());
  self->leaf_iter_vars = self->all_iter_vars;
  self->relations = {};
}

PrimExpr only_inside(const std::vector<PrimExpr>& conditions, const PrimExpr& body) {
  if (conditions.empty()) return body;
  PrimExpr all = loops::all_of(conditions);
  if (auto* reduce = body.as<Reduce>()) {
    PrimExpr condition = is_one(reduce->condition) ? likely(all) : likely(logical_and(all, reduce->condition));
    return with(reduce, &Reduce::condition, condition);
  }
  return if_then_else(likely(all), body, make_zero(body.dtype()));
}

Stage insert_stage(const Schedule& sch, const Operation& op, const Stage& where, Side side) {
  ScheduleNode* self = sch.edit();
  size_t position = 0;
  while (!self->stages[position].same_as(where)) ++position;
  Stage stage = make_stage(op);
  self->stages.insert(side == Side::After ? position + 1 : position, stage);
  self->stage_map.set(op, stage);
  stage.edit()->group = where->group;
  if (where->group) ++where->group.edit()->num_child_stages;
  return stage;
}

Stage create_group(const Schedule& sch, const Array<Tensor>& outputs, const Array<Tensor>& inputs,
                   bool include_inputs) {
  auto current = [&](const Tensor& tensor) { return stage_of(sch, tensor->op)->op; };
  std::unordered_set<const OperationNode*> members, ends;
  for (const Tensor& tensor : inputs) ends.insert(current(tensor).get());
  Array<Operation> roots;
  for (const Tensor& tensor : outputs) roots.push_back(current(tensor));
  // Members lie on a way from the inputs to the outputs; without inputs, all that the outputs need is inside.
  std::unordered_set<const OperationNode*> reached;
  std::vector<Operation> pending(roots.begin(), roots.end());
  while (!pending.empty()) {
    Operation op = pending.back();
    pending.pop_back();
    if (!reached.insert(op.get()).second || ends.count(op.get())) continue;
    for (const Tensor& tensor : input_tensors(op.get())) pending.push_back(tensor->op);
  }
  for (const Operation& op : post_order_operations(roots)) {
    if (!reached.count(op.get())) continue;
    bool is_end = ends.count(op.get()) > 0, is_inside = ends.empty() && !op.as<PlaceholderOp>();
    for (const Operation& root : roots) is_inside |= root.same_as(op);
    for (const Tensor& tensor : input_tensors(op.get()))
      is_inside |= members.count(tensor->op.get()) > 0 || ends.count(tensor->op.get()) > 0;
    if (is_end ? include_inputs && !op.as<PlaceholderOp>() : is_inside) members.insert(op.get());
  }
  // A group all of whose stages are members is itself the member.
  std::unordered_map<const StageNode*, int> taken;
  std::vector<Stage> tops;
  auto add = [&](Stage stage, auto&& self) -> void {
    tops.push_back(stage);
    if (stage->group && ++taken[stage->group.get()] == stage->group->num_child_stages) {
      Stage group = stage->group;
      std::erase_if(tops, [&](const Stage& top) { return top->group.same_as(group); });
      self(group, self);
    }
  };
  for (const Stage& stage : sch->stages)
    if (members.count(stage->op.get())) add(stage, add);
  if (tops.empty()) throw Error(ValueError) << "create_group: there is no stage between the inputs and the outputs";
  Stage parent = tops[0]->group;
  Stage group = make(StageNode{});
  for (const Stage& top : tops) {
    if (!top->group.same_as(parent))
      throw Error(ValueError) << "create_group: stages " << stage_name(tops[0].get()) << " and "
                              << stage_name(top.get()) << " lie in different groups";
    top.edit()->group = group;
  }
  group.edit()->num_child_stages = static_cast<int32_t>(tops.size());
  group.edit()->group = parent;
  if (parent) parent.edit()->num_child_stages += 1 - static_cast<int32_t>(tops.size());
  sch.edit()->groups.push_back(group);
  return group;
}

}  // namespace tessera::te
