#pragma once
// How far apart two tensors are.

#include <optional>
#include <string>

#include "runtime/ndarray.h"

namespace tessera::cli {

/// Elements agree where |a - b| <= atol + rtol * |b|. Not-a-numbers agree with each other, and infinities of one sign.
/// Without an `atol` it is `share` times the largest finite |b| of the tensor: what is small beside its neighbours was rounded
/// with them. Integers and Booleans agree where they are equal, or differ by no more than a given `atol`.
struct Tolerance {
  double rtol = 1e-3;
  std::optional<double> atol;
  double share = 1e-5;

  /// What results may be off that were computed in this type: some roundings of it where they are coarser than what is
  /// allowed anyhow.
  static Tolerance of(DataType dtype);
};

/// The tensor in another float type; others as they are.
NDArray as_float_type(const NDArray& tensor, DataType dtype);

struct Difference {
  bool agrees = true;
  std::string problem;              // where shapes or element types differ: nothing is compared then
  double max_abs = 0, max_rel = 0;  // over all elements; max_rel where b is not 0
  int64_t wrong = 0, elements = 0;  // how many do not agree
  int64_t worst = -1;               // the offset of the largest |a - b| of those, in row-major order
  double worst_a = 0, worst_b = 0;

  /// "3 of 10 elements differ, by up to 0.5 (rel. 2e-3); at (0, 3): 1.25 and 0.75"
  std::string text(std::span<const int64_t> shape) const;
};

/// `a` beside `b`, both on the host. Element types may differ in their width (an answer in float32 beside one in float64),
/// not in kind.
Difference compare(const NDArray& a, const NDArray& b, const Tolerance& tolerance);

}  // namespace tessera::cli
