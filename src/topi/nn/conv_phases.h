#pragma once
// Transposed convolutions without the zeros between elements.

#include "topi/nn/conv.h"

namespace tessera::topi {

/// A transposed convolution of one group whose channels lie in blocks (data NCHW16c, weight with blocks of out channels last:
/// [out / b][in / a][kernel...][a][b]), or has too few channels out for a block, in plain layouts. Results that lie a
/// stride apart read the same kernel elements, one in `stride` of all: they are computed as a convolution of their own,
/// a phase, and all phases are then interleaved. Where the stride divides the kernel size and the padding, phases read
/// alike and are one reduction; else each is one, unless there are many or the weight fits no cache.
/// Null where data or weight are not of that form, phases of different kernel sizes are many, or the kernel is dilated
/// and a stride is greater than 1.
te::Tensor conv_transpose_phases(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                                 const Array<PrimExpr>& output_padding);

/// True where phases may have different kernel sizes, at least one each: there are few of them.
bool takes_uneven_phases(const Array<PrimExpr>& strides, const Array<PrimExpr>& kernel_size);

}  // namespace tessera::topi
