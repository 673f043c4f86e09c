// Fourier transforms for compiled code, in the precision of their data: passes of small radices, each of which leaves its
// results where the next one reads them (Stockham's order), so that nothing is permuted. A prime factor p costs n * p.

#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/function/on_host.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF  // results are the same on all CPUs
#endif

namespace tessera {
namespace {

template <class T>
struct Complex {
  T re, im;
  Complex operator+(Complex b) const { return {re + b.re, im + b.im}; }
  Complex operator-(Complex b) const { return {re - b.re, im - b.im}; }
  Complex operator*(Complex b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
};

/// exp(2 pi i m / n), from the angle's counterpart in the first eighth of the circle.
template <class T>
Complex<T> unit(int64_t m, int64_t n) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  int64_t eighths = 8 * m;
  bool below = eighths > 4 * n, left, steep;
  if (below) eighths = 8 * n - eighths;
  left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  Wide angle = std::numbers::pi_v<Wide> * static_cast<Wide>(eighths) / static_cast<Wide>(4 * n);
  Wide x = std::cos(angle), y = std::sin(angle);
  if (steep) std::swap(x, y);
  return {static_cast<T>(left ? -x : x), static_cast<T>(below ? -y : y)};
}

template <class T>
class Transform {
 public:
  Transform(int64_t n, bool is_inverse) : n_(n), is_inverse_(is_inverse), other_(static_cast<size_t>(n)) {
    int64_t rest = n;
    for (int64_t radix : {4, 2})
      while (rest % radix == 0) radices_.push_back(radix), rest /= radix;
    for (int64_t radix = 3; rest > 1; radix += 2) {
      if (radix * radix > rest) radix = rest;
      while (rest % radix == 0) radices_.push_back(radix), rest /= radix;
    }
    for (int64_t i = 0; i < n; ++i) {
      Complex<T> w = unit<T>(i, n);
      waves_.push_back({w.re, is_inverse ? w.im : -w.im});
    }
  }

  void run(Complex<T>* data) {
    Complex<T>*from = data, *to = other_.data();
    int64_t done = 1;  // the product of the radices so far
    for (int64_t radix : radices_) {
      pass(from, to, radix, done, n_ / (done * radix));
      std::swap(from, to);
      done *= radix;
    }
    T factor = is_inverse_ ? T(1) / static_cast<T>(n_) : T(1);
    for (int64_t i = 0; i < n_; ++i) data[i] = {from[i].re * factor, from[i].im * factor};
  }

 private:
  void pass(const Complex<T>* from, Complex<T>* to, int64_t radix, int64_t done, int64_t left) {
    part_.resize(static_cast<size_t>(radix));
    for (int64_t k = 0; k < done; ++k)
      for (int64_t i = 0; i < left; ++i) {
        for (int64_t j = 0; j < radix; ++j) part_[static_cast<size_t>(j)] = from[i + left * (j + radix * k)];
        butterfly(radix);
        for (int64_t j = 0; j < radix; ++j) {
          Complex<T> value = part_[static_cast<size_t>(j)];
          if (i && j) value = value * waves_[static_cast<size_t>(j * done * i % n_)];
          to[i + left * (k + done * j)] = value;
        }
      }
  }

  /// The transform of `part_`.
  void butterfly(int64_t radix) {
    auto& x = part_;
    if (radix == 2) {
      Complex<T> sum = x[0] + x[1], difference = x[0] - x[1];
      x[0] = sum, x[1] = difference;
    } else if (radix == 4) {
      Complex<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
      Complex<T> turned = is_inverse_ ? Complex<T>{-d.im, d.re} : Complex<T>{d.im, -d.re};
      x[0] = a + c, x[1] = b + turned, x[2] = a - c, x[3] = b - turned;
    } else {
      odd_butterfly(radix);
    }
  }

  /// Elements j and radix - j go together: their sum meets cosines, their difference sines.
  void odd_butterfly(int64_t radix) {
    int64_t half = radix / 2, step = n_ / radix;
    pairs_.resize(static_cast<size_t>(radix));
    Complex<T> first = part_[0], total = first;
    for (int64_t j = 1; j <= half; ++j) {
      Complex<T> a = part_[static_cast<size_t>(j)], b = part_[static_cast<size_t>(radix - j)];
      pairs_[static_cast<size_t>(j)] = a + b;
      pairs_[static_cast<size_t>(radix - j)] = a - b;
      total = total + pairs_[static_cast<size_t>(j)];
    }
    part_[0] = total;
    for (int64_t u = 1; u <= half; ++u) {
      Complex<T> even = first, odd{0, 0};
      for (int64_t j = 1; j <= half; ++j) {
        Complex<T> wave = waves_[static_cast<size_t>(j * u % radix * step)];
        Complex<T> sum = pairs_[static_cast<size_t>(j)], difference = pairs_[static_cast<size_t>(radix - j)];
        even = {even.re + wave.re * sum.re, even.im + wave.re * sum.im};
        odd = {odd.re + wave.im * difference.re, odd.im + wave.im * difference.im};
      }
      part_[static_cast<size_t>(u)] = {even.re - odd.im, even.im + odd.re};
      part_[static_cast<size_t>(radix - u)] = {even.re + odd.im, even.im - odd.re};
    }
  }

  int64_t n_;
  bool is_inverse_;
  std::vector<int64_t> radices_;
  std::vector<Complex<T>> waves_, other_, part_, pairs_;
};

template <class T>
void transform_all(DLTensor* in, DLTensor* out, bool is_inverse) {
  int64_t n = in->shape[in->ndim - 2], count = 1;
  for (int i = 0; i + 2 < in->ndim; ++i) count *= in->shape[i];
  auto* from = static_cast<const Complex<T>*>(data_of(in));
  auto* to = static_cast<Complex<T>*>(data_of(out));
  if (n == 0 || count == 0) return;
  Transform<T> transform(n, is_inverse);
  for (int64_t i = 0; i < count; ++i) {
    std::copy(from + i * n, from + (i + 1) * n, to + i * n);
    transform.run(to + i * n);
  }
}

/// Of (..., n, 2), real and imaginary parts, along the dimension of n.
void fft(DLTensor* in, DLTensor* out, bool is_inverse) {
  DataType dtype(in->dtype);
  if (in->ndim < 2 || in->ndim != out->ndim || in->shape[in->ndim - 1] != 2 || !is_contiguous(in) ||
      !is_contiguous(out) || in->device.device_type != kDLCPU || dtype != DataType(out->dtype))
    throw Error(ValueError) << "fft: tensors (..., n, 2) of one type in host memory are needed";
  if (dtype == DataType::Float(32)) transform_all<float>(in, out, is_inverse);
  else if (dtype == DataType::Float(64)) transform_all<double>(in, out, is_inverse);
  else throw Error(ValueError) << "fft: float32 or float64 is needed, not " << to_text(dtype);
}

Globals fft_globals{{"tessera.fft", on_host("fft", fft, 1)}};

}  // namespace
}  // namespace tessera
