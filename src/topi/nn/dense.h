#pragma once
// Linear layers.

#include "te/tensor.h"

namespace tessera::topi {

/// out[..., n] = sum over k of data[..., k] * weight[n, k], plus bias[n] where a bias is given.
te::Tensor dense(const te::Tensor& data, const te::Tensor& weight, const te::Tensor& bias, DataType out_dtype);

}  // namespace tessera::topi
