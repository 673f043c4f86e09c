// The plain text of tensors, operations, relations, stages and schedules, as `repr` shows it.

#include <cstdio>

#include "ir/repr.h"
#include "te/schedule.h"
#include "tir/print.h"

namespace tessera::te {
namespace {

/// name(op.name, address): operations are told apart by identity.
void print_identity(ReprPrinter& p, const char* kind, const OperationNode* op) {
  char address[32];
  std::snprintf(address, sizeof(address), "%p", static_cast<const void*>(op));
  p << kind << "(" << op->name.str() << ", " << address << ")";
}

ReprRows rows{
    [](ReprPrinter& p, const TensorNode* tensor) {
      (p << "Tensor(shape=[").list(tensor->shape) << "], op.name=" << tensor->op->name.str() << ")";
    },
    [](ReprPrinter& p, const PlaceholderOp* op) { print_identity(p, "placeholder", op); },
    [](ReprPrinter& p, const ComputeOp* op) {
      p << "compute(" << op->name.str() << ", body=" << op->body << ", axis=" << op->axis
        << ", reduce_axis=" << op->reduce_axis << ", tag=" << op->tag.str() << ", attrs=" << op->attrs << ")";
    },
    [](ReprPrinter& p, const ScanOp* op) { print_identity(p, "scan", op); },
    [](ReprPrinter& p, const ExternOp* op) { print_identity(p, "extern", op); },
    [](ReprPrinter& p, const HybridOp* op) { print_identity(p, "hybrid", op); },
    [](ReprPrinter& p, const TensorComputeOp* op) { p << "tensor_compute_op(" << op->name.str() << ")"; },
    [](ReprPrinter& p, const Split* split) {
      p << "split(parent=" << split->parent << ", outer=" << split->outer << ", inner=" << split->inner;
      if (split->factor) p << ", factor=" << split->factor;
      if (split->nparts) p << ", nparts=" << split->nparts;
      p << ")";
    },
    [](ReprPrinter& p, const Fuse* fuse) {
      p << "fuse(outer=" << fuse->outer << ", inner=" << fuse->inner << ", fused=" << fuse->fused << ")";
    },
    [](ReprPrinter& p, const Rebase* rebase) {
      p << "rebase(parent=" << rebase->parent << ", rebased=" << rebase->rebased << ")";
    },
    [](ReprPrinter& p, const Singleton* singleton) { p << "singleton(" << singleton->iter << ")"; },
    [](ReprPrinter& p, const IterVarAttrNode* attr) { p << iter_type_name(attr->iter_type); },
    [](ReprPrinter& p, const StageNode* stage) {
      if (stage->op) p << "stage(" << stage->origin_op->name.str() << ", " << stage->op << ")";
      else p << "group-stage()";
    },
    [](ReprPrinter& p, const ScheduleNode* schedule) { (p << "schedule(").list(schedule->outputs) << ")"; },
};

[[maybe_unused]] const bool tensors_have_names =
    (set_producer_name(TensorNode::info,
                       [](const Object* tensor) { return tensor_name(static_cast<const TensorNode*>(tensor)); }),
     true);

}  // namespace
}  // namespace tessera::te
