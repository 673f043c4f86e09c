#pragma once
// Reverse-mode differentiation of tensor programs.

#include "te/tensor.h"

namespace tessera::te {

/// The derivatives of `output` by each of `inputs`, times `head` from the left.
///   result k [p..., j...] = sum over i of head[p..., i...] * d output[i...] / d inputs[k][j...]
/// `head` has the axes of the output last and any axes before them; empty, it is the identity, and the result is the
/// whole Jacobian. An input that the output does not depend on gives zeros.
Array<Tensor> gradient(const Tensor& output, const Array<Tensor>& inputs, const Tensor& head);

}  // namespace tessera::te
