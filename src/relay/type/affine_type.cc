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

static Globals globals{
    {"ir.TensorAffineType", make_affine_type},
    {"ir.TupleAffineType",
     [](Array<ObjectRef> types) {
       TupleAffineTypeNode node;
       node.types = types;
       return make(std::move(node));
     }},
};

}  // namespace tessera::relay
