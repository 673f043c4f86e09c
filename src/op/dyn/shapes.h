#pragma once
// What the operators under `dyn` share: types with unknown extents, and shapes computed from values.

#include "op/record.h"
#include "op/rules.h"

namespace tessera::op {

/// `rank` extents that are known only at run time.
Array<PrimExpr> any_shape(int64_t rank);
/// The number of elements of argument `i`, a vector of integers (a shape, places, counts): the rank it means.
int64_t vector_length(const TypeQuery& query, int i, const char* name);

/// Element `i` of a vector as an int64.
PrimExpr int64_at(const te::Tensor& vector, int64_t i);
/// The only element of a tensor of no dimensions, or of one of extent 1, as an int64.
PrimExpr int64_of(const te::Tensor& number);
/// An int64 vector of `rank` elements, each given by its number.
te::Tensor shape_vector(int64_t rank, const std::function<PrimExpr(int64_t)>& extent);

}  // namespace tessera::op
