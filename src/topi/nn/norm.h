#pragma once
// Normalisation.

#include "te/tensor.h"

namespace tessera::topi {

/// The learned part of a normalisation: one scale and one offset for each slice along `axis`; empty ones are left out.
struct Affine {
  te::Tensor gamma, beta;
  int axis;
};

/// (x - mean) / sqrt(variance + epsilon), scaled and shifted; then mean and variance as they were given.
Array<te::Tensor> batch_norm(const te::Tensor& x, const te::Tensor& mean, const te::Tensor& variance, double epsilon,
                             const Affine& affine);

/// x normalised by the mean and variance over `axes`, scaled and shifted.
te::Tensor normalize(const te::Tensor& x, const std::vector<int>& axes, double epsilon, const Affine& affine);

/// The channels along the axis of `affine` in `groups`, each normalised over itself and all dimensions after that axis.
te::Tensor group_norm(const te::Tensor& x, int groups, double epsilon, const Affine& affine);

/// x / sqrt(max(sum of squares over `axes`, eps)).
te::Tensor l2_normalize(const te::Tensor& x, const std::vector<int>& axes, double eps);

struct LrnOptions {
  int size = 5, axis = 1;
  double alpha = 0.0001, beta = 0.75, bias = 2;
};
/// x / (bias + alpha / size * sum of squares of `size` neighbours along an axis)^beta.
te::Tensor lrn(const te::Tensor& x, const LrnOptions& options);

}  // namespace tessera::topi
