#pragma once
// What the operators under `dyn` share: types with unknown extents, and shapes computed from values.

#include "op/record.h"
#include "op/rules.h"
#include "topi/program.h"

namespace tessera::op {

/// `rank` extents that are known only at run time.
Array<PrimExpr> any_shape(int64_t rank);
/// The number of elements of argument `i`, a vector of integers (a shape, bounds, counts): the rank it means.
int64_t vector_length(const TypeQuery& query, int i, const char* name);

/// Element `i` of a vector as an int64.
PrimExpr int64_at(const te::Tensor& vector, int64_t i);
/// An int64 vector of `rank` elements, each given by its number.
te::Tensor shape_vector(int64_t rank, const std::function<PrimExpr(int64_t)>& extent);
/// The shapes of results of these ranks, as the host function `function` (runtime/function/shape_functions.cc) computes and checks them
/// from the tensors. It is called with them, the shapes it fills, and the further arguments.
Tensors host_shapes(const char* function, const Tensors& in, const Array<PrimExpr>& ranks,
                    const std::vector<topi::PackedArgument>& further = {});

}  // namespace tessera::op
