#pragma once
// What integers stand for, as rules of FakeQuantizationToInteger say it: value = scale * (integer - zero point).

#include "relay/expr.h"

namespace tessera::relay {

struct AffineTypeNode : Object {
  static constexpr NodeInfo info{"AffineTypeNode", &Object::info};
  static void fields(auto) {}
};
using AffineType = Ref<AffineTypeNode>;

/// Scale and zero point are numbers, or vectors along `axis`.
struct TensorAffineTypeNode : AffineTypeNode {
  Expr scale, zero_point;
  DataType dtype;
  int32_t axis = -1;
  static constexpr NodeInfo info{"TensorAffineType", &AffineTypeNode::info};
  static void fields(auto f) {
    f("scale", &TensorAffineTypeNode::scale);
    f("zero_point", &TensorAffineTypeNode::zero_point);
    f("dtype", &TensorAffineTypeNode::dtype);
    f("axis", &TensorAffineTypeNode::axis);
  }
};

struct TupleAffineTypeNode : AffineTypeNode {
  Array<ObjectRef> types;  // of the fields
  static constexpr NodeInfo info{"TupleAffineType", &AffineTypeNode::info};
  static void fields(auto f) { f("types", &TupleAffineTypeNode::types); }
};

AffineType make_affine_type(Expr scale, Expr zero_point, DataType dtype, int axis);

}  // namespace tessera::relay
