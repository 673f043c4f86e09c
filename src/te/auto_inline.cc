// Inlining of all stages of a kind that the user has not scheduled.

#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "te/schedule.h"

namespace tessera::te {
namespace {

bool is_scheduled(const StageNode* stage) {
  return !stage->relations.empty() || stage->attach_type != AttachType::GroupRoot ||
         stage->leaf_iter_vars.size() != stage->all_iter_vars.size();
}

bool is_injective(const ComputeOp* op) { return op->reduce_axis.empty(); }

/// Every read is by axes of the operation, in their order: all of them, or some left out where `may_skip`.
bool reads_in_order(const ComputeOp* op, bool may_skip) {
  bool holds = is_injective(op);
  for (const PrimExpr& body : op->body)
    walk(body, [&](const ProducerLoad* load) {
      if (!may_skip && load->indices.size() != op->axis.size()) holds = false;
      size_t axis = 0;
      for (const PrimExpr& index : load->indices) {
        while (may_skip && axis < op->axis.size() && !index.same_as(op->axis[axis]->var)) ++axis;
        if (axis >= op->axis.size() || !index.same_as(op->axis[axis]->var)) {
          holds = false;
          return;
        }
        ++axis;
      }
    });
  return holds;
}

template <class F>
void inline_where(const Schedule& sch, F is_wanted) {
  for (const Stage& stage : sch->stages) {
    auto* op = stage->op.as<ComputeOp>();
    if (op && !stage->is_output && !is_scheduled(stage.get()) && is_wanted(op)) compute_inline(stage);
  }
}

Globals auto_inline_globals{
    {"schedule.AutoInlineElemWise",
     [](Schedule sch) { inline_where(sch, [](const ComputeOp* op) { return reads_in_order(op, false); }); }},
    {"schedule.AutoInlineBroadcast",
     [](Schedule sch) { inline_where(sch, [](const ComputeOp* op) { return reads_in_order(op, true); }); }},
    {"schedule.AutoInlineInjective", [](Schedule sch) { inline_where(sch, is_injective); }},
};

}  // namespace
}  // namespace tessera::te
