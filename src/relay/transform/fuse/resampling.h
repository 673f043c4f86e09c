#pragma once
// Images of another size, as importers write them: elements taken at some indices, times weights, added up.

#include "relay/expr.h"
#include "topi/cpu/resample.h"

namespace tessera::relay {

/// One axis: `out = take(data, indices[0]) * weights[0] + take(data, indices[1]) * weights[1] + ...`, or one take alone.
struct Resampling {
  Expr data;
  int64_t axis = 0;
  std::vector<Expr> indices, weights;
  std::vector<const Call*> calls;  // all that it is made of, operands first
};

/// What `expr` is, where it is that. Types must be known.
std::optional<Resampling> resampling_of(const Expr& expr);

/// Its indices and weights as numbers; nothing where they are no constants, or an index lies outside the data.
std::optional<topi::ResampledAxis> numbers_of(const Resampling& axis);

}  // namespace tessera::relay
