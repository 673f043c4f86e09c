// Determinants for compiled code: elimination with the largest element of each column as pivot.

#include <cmath>
#include <utility>
#include <vector>

#include "runtime/function/element.h"
#include "runtime/function/on_host.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

double determinant_of(std::vector<double>& a, size_t n) {
  double out = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    double largest = a[pivot * n + k];
    if (largest == 0) return 0;
    if (pivot != k) {
      for (size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
      out = -out;
    }
    out *= largest;
    for (size_t i = k + 1; i < n; ++i) {
      double factor = a[i * n + k] / largest;
      for (size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return out;
}

/// Of (..., n, n), one number for each matrix.
void determinant(DLTensor* in, DLTensor* out) {
  if (in->ndim < 2 || in->shape[in->ndim - 1] != in->shape[in->ndim - 2] || !is_contiguous(in) || !is_contiguous(out) ||
      in->device.device_type != kDLCPU)
    throw Error(ValueError) << "determinant: square matrices in host memory are needed";
  auto n = static_cast<size_t>(in->shape[in->ndim - 1]);
  int64_t count = 1;
  for (int i = 0; i + 2 < in->ndim; ++i) count *= in->shape[i];
  DataType dtype(in->dtype), out_dtype(out->dtype);
  auto* from = static_cast<const char*>(data_of(in));
  auto* to = static_cast<char*>(data_of(out));
  std::vector<double> matrix(n * n);
  for (int64_t m = 0; m < count; ++m) {
    for (double& element : matrix) element = read_float(dtype, from), from += dtype.bytes();
    write_float(out_dtype, determinant_of(matrix, n), to + m * out_dtype.bytes());
  }
}

Globals determinant_globals{{"tessera.determinant", on_host("determinant", determinant, 1)}};

}  // namespace
}  // namespace tessera
