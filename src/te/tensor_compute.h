#pragma once
// Operations computed by a tensor intrinsic: a hardware instruction described by a small computation.

#include "te/tensor.h"

namespace tessera::te {

/// What an instruction computes (`op`, over `inputs`), and the statements that do it over `buffers`
/// (inputs first, then outputs). `reduce_init` and `reduce_update` are set for instructions that accumulate.
struct TensorIntrinNode : Object {
  String name;
  Operation op;
  Array<Tensor> inputs;
  Array<Buffer> buffers;
  Array<Var> scalar_params;
  Stmt body, reduce_init, reduce_update;
  static constexpr NodeInfo info{"TensorIntrin", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("name", &TensorIntrinNode::name);
    f("op", &TensorIntrinNode::op);
    f("inputs", &TensorIntrinNode::inputs);
    f("buffers", &TensorIntrinNode::buffers);
    f("scalar_params", &TensorIntrinNode::scalar_params);
    f("body", &TensorIntrinNode::body);
    f("reduce_init", &TensorIntrinNode::reduce_init, Optional);
    f("reduce_update", &TensorIntrinNode::reduce_update, Optional);
  }
};
using TensorIntrin = Ref<TensorIntrinNode>;

/// A use of an intrinsic as the body of a computation, on regions of tensors.
struct TensorIntrinCallNode : Object {
  TensorIntrin intrin;
  Array<Tensor> tensors;
  Array<ObjectRef> regions;  // one Array<Range> per tensor
  Array<IterVar> reduce_axis;
  Array<PrimExpr> scalar_inputs;
  static constexpr NodeInfo info{"TensorIntrinCall", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("intrin", &TensorIntrinCallNode::intrin);
    f("tensors", &TensorIntrinCallNode::tensors);
    f("regions", &TensorIntrinCallNode::regions);
    f("reduce_axis", &TensorIntrinCallNode::reduce_axis);
    f("scalar_inputs", &TensorIntrinCallNode::scalar_inputs);
  }
};
using TensorIntrinCall = Ref<TensorIntrinCallNode>;

/// Runs `intrin` once per point of the first `schedulable_ndim` axes; the rest lie inside the instruction.
struct TensorComputeOp : OperationNode {
  Array<IterVar> axis, reduce_axis;
  int32_t schedulable_ndim = 0;
  TensorIntrin intrin;
  Array<Tensor> inputs;
  Array<ObjectRef> input_regions;  // one Array<Range> per input
  Array<PrimExpr> scalar_inputs;
  static constexpr NodeInfo info{"TensorComputeOp", &OperationNode::info, Role::Identity};
  static void fields(auto f) {
    f("axis", &TensorComputeOp::axis);
    f("reduce_axis", &TensorComputeOp::reduce_axis);
    f("schedulable_ndim", &TensorComputeOp::schedulable_ndim);
    f("intrin", &TensorComputeOp::intrin);
    f("inputs", &TensorComputeOp::inputs);
    f("input_regions", &TensorComputeOp::input_regions);
    f("scalar_inputs", &TensorComputeOp::scalar_inputs);
  }
};

int tensor_compute_outputs(const TensorComputeOp* op);
DataType tensor_compute_dtype(const TensorComputeOp* op, int index);

}  // namespace tessera::te
