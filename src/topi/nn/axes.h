#pragma once
// Axes of computes.

#include "te/reduce.h"

namespace tessera::topi {

inline IterVar data_axis(const std::string& name, const PrimExpr& extent) {
  return make_iter_var(make_range(make_zero(extent.dtype()), extent), make_var(name, extent.dtype()),
                       IterType::DataPar);
}
inline IterVar reduce_over(const std::string& name, const PrimExpr& extent) {
  return te::reduce_axis(make_range(make_zero(extent.dtype()), extent), name);
}

}  // namespace tessera::topi
