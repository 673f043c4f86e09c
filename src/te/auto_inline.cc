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

/// Every read is by the axes of the operation, in their order.
bool reads_in_order(const ComputeOp* op) {
  bool holds = is_injective(op);
  for (const PrimExpr& body : op->body)
    walk(body, [&](const ProducerLoad* load) {
      holds = holds && load->indices.size() == op->axis.size();
      for (size_t i = 0; holds && i < load->indices.size(); ++i) holds = load->indices[i].same_as(op->axis[i]->var);
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
    {"schedule.AutoInlineElemWise", [](Schedule sch) { inline_where(sch, reads_in_order); }},
    {"schedule.AutoInlineBroadcast",
     [](Schedule sch) {
       inline_where(sch, [](const ComputeOp* op) { return is_injective(op) && op->tag == "broadcast"; });
     }},
    {"schedule.AutoInlineInjective", [](Schedule sch) { inline_where(sch, is_injective); }},
};

}  // namespace
}  // namespace tessera::te
