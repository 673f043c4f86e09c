#include "op/qnn/affine.h"

#include <cmath>

#include "op/rules.h"
#include "relay/make.h"
#include "runtime/packed_func.h"

namespace tessera::op {

Any canonicalization(const char* name, const Canonicalize& rule) {
  return Any(relay::graph_rule<Attrs, Array<Expr>, Array<Type>>(std::string("canonical ") + name, rule));
}

IntegerRange integer_range(DataType dtype) {
  if (dtype.code == DataType::kUInt) return {0, std::ldexp(1.0, dtype.bits) - 1};
  return {-std::ldexp(1.0, dtype.bits - 1), std::ldexp(1.0, dtype.bits - 1) - 1};
}

namespace {

bool is_integer(DataType dtype) { return dtype.code == DataType::kInt || dtype.code == DataType::kUInt; }

/// One number, or one for each index along the axis.
void check_part(const TypeQuery& query, int i, const char* name, const Array<PrimExpr>& shape, int axis,
                bool may_be_one) {
  const Array<PrimExpr>& own = query.tensor(i)->shape;
  if (own.empty()) return;
  if (may_be_one && own.size() == 1 && !as_int(own[0])) return;
  if (own.size() == 1 && as_int(own[0]) && *as_int(own[0]) == 1) return;
  const int dimension = shape.empty() ? 0 : normal_axis(axis, static_cast<int>(shape.size()));
  // Asked last: of a dynamic extent this is a condition that holds from here on.
  bool fits = own.size() == 1 && !shape.empty() && relay::may_equal(own[0], shape[static_cast<size_t>(dimension)]);
  if (!fits)
    throw Error(TypeError) << name << " must be a number or have an element for each index along axis " << axis
                           << " of a tensor of " << to_text(shape) << ", but is " << to_text(query.type(i));
}

}  // namespace

bool check_affine(TypeQuery& query, int scale, int zero, const Array<PrimExpr>& shape, int axis, bool may_be_one) {
  auto *scales = query.tensor(scale), *zeros = query.tensor(zero);
  if (!scales || !zeros) return false;
  if (scales->dtype.code != DataType::kFloat)
    throw Error(TypeError) << "a scale must be a float, but is " << to_text(query.type(scale));
  if (!is_integer(zeros->dtype))
    throw Error(TypeError) << "a zero point must be an integer, but is " << to_text(query.type(zero));
  check_part(query, scale, "a scale", shape, axis, may_be_one);
  check_part(query, zero, "a zero point", shape, axis, may_be_one);
  return true;
}

Expr along_axis(const Expr& part, const Type& type, int axis, size_t rank) {
  auto* tensor = tensor_of(type);
  if (tensor->shape.empty()) return part;
  if (rank == 0) return relay::reshape(part, {});  // a number's scale may be written as a vector of one
  if (as_int(tensor->shape[0]) && *as_int(tensor->shape[0]) == 1) return part;
  const int behind = static_cast<int>(rank) - 1 - normal_axis(axis, static_cast<int>(rank));
  return behind == 0 ? part : relay::expand_dims(part, 1, behind);
}

}  // namespace tessera::op
