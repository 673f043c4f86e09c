// A schedule made ready for bounds: inlined stages put into their consumers, loops beginning at 0, attachments that point
// to loops which still exist.

#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/propagate.h"
#include "te/transform_layout.h"

namespace tessera::te {
namespace {

/// Puts the bodies of inlined operations into those that read them, and redirects consumers of changed operations. One
/// pass in the order of the stages, producers first. Operations that are inlined themselves stay as they are: what they
/// read is inlined where they are, so that a long chain of them is written out once.
class Inliner {
 public:
  void operator()(const Schedule& sch) {
    for (const Stage& stage : sch->stages) {
      if (stage->attach_type == AttachType::Inline) {
        check_can_inline(stage);
        inlined_.insert(stage->op.get());
        stage.edit()->attach_type = AttachType::InlinedAlready;
        continue;
      }
      Operation op = stage->op, changed = changed_op(op);
      stage.edit()->op = changed;
      if (!changed.same_as(op)) replaced_[op.get()] = changed;
    }
    Array<Operation> outputs;
    for (const Operation& op : sch->outputs) {
      auto it = replaced_.find(op.get());
      outputs.push_back(it == replaced_.end() ? op : it->second);
    }
    sch.edit()->outputs = outputs;
  }

 private:
  static void check_can_inline(const Stage& stage) {
    if (!stage->op.as<ComputeOp>())
      throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << ": only a compute can be inlined, not a "
                                << stage->op->type_key();
    if (as_reduction(stage->op.get()))
      throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                                << " cannot be inlined: Reductions are only allowed at the top level of compute. "
                                << "Please create another tensor for further composition.";
    if (stage->is_output)
      throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << " is an output and cannot be inlined";
  }

  Operation changed_op(const Operation& op) {
    Rewriter rewriter;
    rewriter.on([this](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
      Tensor tensor = downcast<Tensor>(load->producer);
      if (!inlined_.count(tensor->op.get()))
        return with(self.children(load), &ProducerLoad::producer, DataProducer(other(tensor)));
      auto* compute = tensor->op.as<ComputeOp>();
      Map<Var, PrimExpr> values;
      for (size_t i = 0; i < compute->axis.size(); ++i) {
        const Var& var = compute->axis[i]->var;
        values.set(var, cast(var->dtype, load->indices[i]));
      }
      return self(substitute(compute->body[static_cast<size_t>(tensor->value_index)], values));
    });
    if (auto* compute = op.as<ComputeOp>())
      return with_body(compute, rewrite_compute_bodies(compute, [&](const PrimExpr& e) { return rewriter(e); }));
    if (auto* hybrid = op.as<HybridOp>()) {
      Stmt body = rewriter(hybrid->body);
      if (body.same_as(hybrid->body)) return op;
      HybridOp node(*hybrid);
      node.body = body;
      node.inputs = {};
      TensorMap<bool> seen;
      walk(body, [&](const ProducerLoad* load) {
        Tensor tensor = downcast<Tensor>(load->producer);
        bool is_own = false;
        for (const Tensor& out : hybrid->outputs) is_own = is_own || same_tensor(out.get(), tensor.get());
        if (!is_own && !std::exchange(seen[tensor], true)) node.inputs.push_back(tensor);
      });
      return make(std::move(node));
    }
    for (const Tensor& tensor : input_tensors(op.get()))
      if (inlined_.count(tensor->op.get()))
        throw Error(RuntimeError) << "stage " << tensor->op->name << " cannot be inlined: " << op->name << ", a "
                                  << op->type_key() << ", needs it in memory";
    return replace_inputs(op, [&](const Tensor& tensor) { return other(tensor); });
  }

  Tensor other(const Tensor& tensor) const {
    auto it = replaced_.find(tensor->op.get());
    return it == replaced_.end() ? tensor : output(it->second, tensor->value_index);
  }

  std::unordered_set<const OperationNode*> inlined_;
  std::unordered_map<const OperationNode*, Operation> replaced_;
};

/// An axis split after something was attached to it stands for its innermost part; a fused one for the whole.
void fix_attachments(const Array<Stage>& stages) {
  for (const Stage& stage : stages) {
    if (stage->attach_type != AttachType::Scope) continue;
    const Stage& parent = stage->attach_stage;
    if (parent->attach_type == AttachType::InlinedAlready)
      throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << " is attached to a loop of "
                                << stage_name(parent.get()) << ", which is inlined and has no loops";
    IterVar at = stage->attach_ivar;
    for (const IterVarRelation& relation : parent->relations) {
      if (auto* split = relation.as<Split>()) {
        if (split->parent.same_as(at)) at = split->inner;
      } else if (auto* fuse = relation.as<Fuse>()) {
        if (fuse->outer.same_as(at) || fuse->inner.same_as(at)) at = fuse->fused;
      }
    }
    stage.edit()->attach_ivar = at;
  }
}

/// Leaves that are axes of the operation get a loop from 0 of their own, so that every leaf begins there. A hybrid
/// operation has its loops already.
void rebase_loops(const Schedule& sch) {
  std::unordered_map<const StageNode*, AxisMap<IterVar>> rebased;
  for (const Stage& stage : sch->stages) {
    if (stage->attach_type == AttachType::InlinedAlready || stage->op.as<HybridOp>()) continue;
    StageNode* self = stage.edit();
    for (const IterVar& root : root_iter_vars(stage->op.get())) {
      for (size_t i = 0; i < self->leaf_iter_vars.size(); ++i) {
        if (!self->leaf_iter_vars[i].same_as(root)) continue;
        IterVar loop = make_iter_var(nullptr, make_var(root->var->name, root->var->dtype), root->iter_type);
        self->relations.push_back(make(Rebase{.parent = root, .rebased = loop}));
        if (IterVarAttr attr = self->iter_var_attrs.get_or_null(root)) self->iter_var_attrs.set(loop, attr);
        self->leaf_iter_vars.set(i, loop);
        rebased[stage.get()][root.get()] = loop;
      }
    }
  }
  for (const Array<Stage>& list : {sch->stages, sch->groups})
    for (const Stage& stage : list) {
      if (!stage->attach_ivar) continue;
      const AxisMap<IterVar>& loops = rebased[stage->attach_stage.get()];
      auto it = loops.find(stage->attach_ivar.get());
      if (it != loops.end()) stage.edit()->attach_ivar = it->second;
    }
}

}  // namespace

Schedule normalize(const Schedule& sch) {
  Schedule out = copy_schedule(sch);
  apply_layouts(out);
  Inliner()(out);
  fix_attachments(out->stages);
  fix_attachments(out->groups);
  rebase_loops(out);
  return out;
}

}  // namespace tessera::te
