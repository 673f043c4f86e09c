#include "tune/linear_model.h"

#include <algorithm>
#include <cmath>

namespace tessera::tune {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// x where a x = b, of a symmetric and positive definite a (Cholesky).
std::vector<double> solved(Matrix a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], 1e-12));
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

}  // namespace

void LinearModel::fit(const Matrix& features, const std::vector<double>& target) {
  if (features.empty()) return;
  constexpr double kRidge = 0.3;
  const size_t n = features[0].size();
  const auto rows = static_cast<double>(features.size());
  means_.assign(n, 0);
  scales_.assign(n, 1);
  for (size_t j = 0; j < n; ++j) {
    double squares = 0;
    for (const auto& row : features) means_[j] += row[j] / rows;
    for (const auto& row : features) squares += (row[j] - means_[j]) * (row[j] - means_[j]) / rows;
    scales_[j] = squares > 1e-12 ? std::sqrt(squares) : 0;
  }
  double middle = 0;
  for (double each : target) middle += each / rows;
  Matrix a(n, std::vector<double>(n, 0));
  std::vector<double> b(n, 0), x(n);
  for (size_t i = 0; i < features.size(); ++i) {
    for (size_t j = 0; j < n; ++j) x[j] = scales_[j] > 0 ? (features[i][j] - means_[j]) / scales_[j] : 0;
    for (size_t j = 0; j < n; ++j) {
      b[j] += x[j] * (target[i] - middle);
      for (size_t k = 0; k <= j; ++k) a[j][k] += x[j] * x[k];
    }
  }
  for (size_t j = 0; j < n; ++j) a[j][j] += kRidge * rows / 10 + kRidge;
  weights_ = solved(std::move(a), std::move(b));
}

double LinearModel::predict(const std::vector<double>& features) const {
  double out = 0;
  for (size_t j = 0; j < weights_.size(); ++j)
    if (scales_[j] > 0) out += weights_[j] * (features[j] - means_[j]) / scales_[j];
  return out;
}

}  // namespace tessera::tune
