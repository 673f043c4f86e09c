#include "driver/cli/diff/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/function/element.h"

namespace tessera::cli {
namespace {

/// The elements one by one, floats or integers as float64.
class Elements {
 public:
  explicit Elements(const NDArray& tensor)
      : tensor_(tensor), at_(tensor.data<char>()), step_(static_cast<size_t>(tensor.dtype().bytes())) {}
  double operator[](int64_t i) const {
    const char* at = at_ + static_cast<size_t>(i) * step_;
    if (tensor_.dtype() == DataType::Float(32)) return *reinterpret_cast<const float*>(at);
    return read_float(tensor_.dtype(), at);
  }
  int64_t integer(int64_t i) const { return read_int(tensor_.dtype(), at_ + static_cast<size_t>(i) * step_); }

 private:
  const NDArray& tensor_;
  const char* at_;
  size_t step_;
};

bool same_kind(DataType a, DataType b) { return a == b || (a.is_floating() && b.is_floating()); }

/// The tensor on the host, row by row.
NDArray plain(const NDArray& tensor) {
  bool is_plain = tensor.device().device_type == kDLCPU && is_contiguous(tensor.tensor());
  return is_plain ? tensor : tensor.copy_to(cpu());
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace

Tolerance Tolerance::of(DataType dtype) {
  const double rounding = dtype.bits > 16 ? 0 : std::ldexp(1.0, dtype.is_bfloat() ? -7 : -10);
  Tolerance out;
  out.rtol = std::max(out.rtol, 16 * rounding);
  out.share = std::max(out.share, 4 * rounding);
  return out;
}

NDArray as_float_type(const NDArray& given, DataType dtype) {
  if (given.dtype() == dtype || !given.dtype().is_floating() || !dtype.is_floating()) return given;
  NDArray from = plain(given), out = NDArray::empty({from.shape().begin(), from.shape().end()}, dtype);
  Elements elements(from);
  for (int64_t i = 0; i < from.size(); ++i)
    write_float(dtype, elements[i], out.data<char>() + static_cast<size_t>(i) * dtype.bytes());
  return out;
}

Difference compare(const NDArray& given_a, const NDArray& given_b, const Tolerance& tolerance) {
  Difference out;
  NDArray a = plain(given_a), b = plain(given_b);
  if (!std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end())) {
    out.problem = fmt::format("the shapes are {} and {}", shape_text(a.shape()), shape_text(b.shape()));
  } else if (!same_kind(a.dtype(), b.dtype())) {
    out.problem = fmt::format("the element types are {} and {}", to_text(a.dtype()), to_text(b.dtype()));
  }
  out.agrees = out.problem.empty();
  if (!out.agrees) return out;
  out.elements = a.size();
  Elements left(a), right(b);
  bool is_float = a.dtype().is_floating();
  double largest = 0, rtol = is_float ? tolerance.rtol : 0;
  if (!tolerance.atol && is_float)
    for (int64_t i = 0; i < out.elements; ++i)
      if (double value = std::fabs(right[i]); std::isfinite(value)) largest = std::max(largest, value);
  double atol = tolerance.atol.value_or(tolerance.share * largest), worst = -1;
  for (int64_t i = 0; i < out.elements; ++i) {
    double x = left[i], y = right[i];
    if (is_float ? x == y || (std::isnan(x) && std::isnan(y)) : left.integer(i) == right.integer(i)) continue;
    double error = std::fabs(x - y);
    if (!(error >= 0)) error = INFINITY;          // one of the two is no number
    if (!is_float) error = std::max(error, 1.0);  // of integers beyond 2^53
    out.max_abs = std::max(out.max_abs, error);
    if (y != 0) out.max_rel = std::max(out.max_rel, std::isfinite(y) ? error / std::fabs(y) : INFINITY);
    if (std::isfinite(error) && error <= atol + rtol * std::fabs(y)) continue;
    ++out.wrong;
    if (error <= worst) continue;
    worst = error;
    out.worst = i;
    out.worst_a = x;
    out.worst_b = y;
  }
  out.agrees = out.wrong == 0;
  return out;
}

std::string Difference::text(std::span<const int64_t> shape) const {
  if (!problem.empty()) return problem;
  std::string errors = fmt::format("max abs error {:.3g}, max rel error {:.3g}", max_abs, max_rel);
  if (agrees) return errors;
  std::vector<int64_t> index(shape.size());
  int64_t left = worst;
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = left % shape[i];
    left /= shape[i];
  }
  return fmt::format("{} of {} elements differ: {}; at {}: {:.7g} and {:.7g}", wrong, elements, errors,
                     shape_text(index), worst_a, worst_b);
}

}  // namespace tessera::cli
