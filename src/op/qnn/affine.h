#pragma once
// What the records of quantised operators share.

#include "op/record.h"
#include "relay/expr.h"

namespace tessera::op {

/// How a quantised operator is written in plain ones: (call's attributes, its arguments, the types of those and of the
/// result). The slot FTVMQnnCanonicalize.
using Canonicalize = Expr (*)(const Attrs&, const Array<Expr>& args, const Array<Type>& types);
inline constexpr const char* kCanonicalize = "FTVMQnnCanonicalize";
Any canonicalization(const char* name, Canonicalize rule);

/// The least and the greatest value of an integer type.
struct IntegerRange {
  double low, high;
};
IntegerRange integer_range(DataType dtype);

/// A TypeError unless arguments `scale` and `zero` are a scale (floats) and a zero point (int32): numbers, or vectors with an
/// element for each place along `axis` of `shape`. False while their types are not known.
bool check_affine(TypeQuery& query, int scale, int zero, const Array<PrimExpr>& shape, int axis);

/// A scale or zero point as it meets a tensor of `rank` dimensions: a vector gets dimensions of 1 behind it.
Expr along_axis(const Expr& part, const Type& type, int axis, size_t rank);

}  // namespace tessera::op
