#pragma once
// What integers stand for, as rules of FakeQuantizationToInteger say it: value = scale * (integer - zero point).

#include <functional>

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
AffineType make_tuple_affine_type(Array<AffineType> types);

/// Whether scales and zero points are nearly the same, so that integers of one are those of the other.
bool same_affine_type(const TensorAffineTypeNode* a, const TensorAffineTypeNode* b);

/// What a call of floats becomes on integers. `call` has integers for arguments, `types` says what those stand for, by the
/// argument, and under the call itself what its result should stand for, where that is known. Constants that nothing
/// quantizes have no type. The answer is an expression and what that stands for, or nothing where there is no such form.
using QuantizedForm = std::function<Array<ObjectRef>(const Expr& call, const Map<Expr, AffineType>& types)>;
inline constexpr const char* kQuantizedForm = "FTVMFakeQuantizationToInteger";

}  // namespace tessera::relay
