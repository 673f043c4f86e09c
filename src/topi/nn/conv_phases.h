#pragma once
// Transposed convolutions without the zeros between elements.

#include "topi/nn/conv.h"

namespace tessera::topi {

/// A transposed convolution of one group whose channels lie in blocks (data NCHW16c, weight with blocks of out channels last:
/// [out / b][in / a][taps...][a][b]). Results that lie a stride apart read the same taps, one in `stride` of all: they are
/// computed as a convolution of their own, a phase, and all phases are then put together. Null where data or weight are not
/// of that form, the stride does not divide the taps, or taps are spread out and a stride is greater than 1.
te::Tensor conv_transpose_phases(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                                 const Array<PrimExpr>& output_padding);

}  // namespace tessera::topi
