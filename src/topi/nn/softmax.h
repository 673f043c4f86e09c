#pragma once

#include "te/tensor.h"

namespace tessera::topi {

/// exp(x) over its sum along `axis`, computed on x less its maximum.
te::Tensor softmax(const te::Tensor& x, int axis);
/// The same with a quick exponential function.
te::Tensor fast_softmax(const te::Tensor& x, int axis);
/// Its logarithm, computed without the quotient.
te::Tensor log_softmax(const te::Tensor& x, int axis);

}  // namespace tessera::topi
