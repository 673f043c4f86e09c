#include "te/tensorize.h"

namespace tessera::te {

int tensor_compute_outputs(const TensorComputeOp* op) {
  return static_cast<int>(op->intrin->buffers.size()) - static_cast<int>(op->inputs.size());
}

DataType tensor_compute_dtype(const TensorComputeOp* op, int index) {
  return op->intrin->buffers[op->inputs.size() + static_cast<size_t>(index)]->dtype;
}

Stmt provide_tensorized(NestBuilder&, const Stage& stage, const IterVar& leaf) {
  throw Error(NotImplementedError) << "stage " << stage_name(stage.get()) << ": tensorize of " << leaf->var->name
                                   << " is not supported yet";
}

Stmt provide_tensor_compute(NestBuilder&, const Stage& stage) {
  throw Error(NotImplementedError) << "stage " << stage_name(stage.get())
                                   << ": computing by a tensor intrinsic is not supported yet";
}

}  // namespace tessera::te
