#include "relay/type/affine_type.h"

#include "runtime/registry.h"

namespace tessera::relay {

AffineType make_affine_type(Expr scale, Expr zero_point, DataType dtype, int axis) {
  TensorAffineTypeNode node;
  node.scale = std::move(scale);
  node.zero_point = std::move(zero_point);
  node.dtype = dtype;
  node.axis = axis;
  return make(std::move(node));
}

AffineType make_tuple_affine_type(Array<AffineType> types) {
  TupleAffineTypeNode node;
  for (const AffineType& type : types) node.types.push_back(type);
  return make(std::move(node));
}

static Globals affine_type_globals{
    {"ir.TensorAffineType", make_affine_type},
    {"ir.TupleAffineType", make_tuple_affine_type},
};

}  // namespace tessera::relay
