#include "relay/type/affine_type.h"

#include <cmath>

#include "ir/structural/equal.h"
#include "relay/inspect.h"
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

namespace {

/// Within 1e-5 of the second and 1e-8, as NumPy's allclose has it.
bool nearly_equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  auto x = scalar_value(a), y = scalar_value(b);
  if (x && y) return std::abs(*x - *y) <= 1e-8 + 1e-5 * std::abs(*y);
  return structural_equal(a, b);
}

}  // namespace

bool same_affine_type(const TensorAffineTypeNode* a, const TensorAffineTypeNode* b) {
  return a == b || (nearly_equal(a->scale, b->scale) && nearly_equal(a->zero_point, b->zero_point));
}

static Globals affine_type_globals{
    {"ir.TensorAffineType", make_affine_type},
    {"ir.TupleAffineType", make_tuple_affine_type},
};

}  // namespace tessera::relay
