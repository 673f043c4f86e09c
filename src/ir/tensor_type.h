#pragma once
// The type of tensors.

#include "ir/expr.h"

namespace tessera {

/// A tensor of `dtype` elements. An extent is a number, a shape variable, or Any where it is known only at run time.
struct TensorTypeNode : TypeNode {
  Array<PrimExpr> shape;
  DataType dtype;
  static constexpr NodeInfo info{"relay.TensorType", &TypeNode::info};
  static void fields(auto f) {
    f("shape", &TensorTypeNode::shape);
    f("dtype", &TensorTypeNode::dtype);
  }
};

class TensorType : public Ref<TensorTypeNode> {
 public:
  using Ref::Ref;
  TensorType(const Ref<TensorTypeNode>& ref) : Ref(ref) {}
  TensorType(Array<PrimExpr> shape, DataType dtype)
      : Ref(make(TensorTypeNode{.shape = std::move(shape), .dtype = dtype})) {}
  static TensorType scalar(DataType dtype) { return TensorType(Array<PrimExpr>(), dtype); }
  int rank() const { return static_cast<int>(node_->shape.size()); }
};

}  // namespace tessera
