#pragma once
// Where convolutions on a CPU become Winograd's, and along which axes.

#include <vector>

#include "ir/pass/pass.h"
#include "relay/attrs/conv.h"
#include "relay/expr.h"

namespace tessera::op {

/// A convolution, in the order of its plain layout.
struct WinogradLayer {
  int64_t ins, outs;
  Array<PrimExpr> kernel;   // its spatial extents
  Array<PrimExpr> results;  // the batch, channels, and spatial extents
  int64_t lanes;            // of a vector
  int group = 1;            // elements that a direct convolution takes at once
  int64_t groups = 1;       // of channels
  int64_t cache_bytes = 0;  // of the last cache
};

/// The axes along which it takes the least time, of one or two; none where a direct convolution takes as little, or where the
/// weight is not known when the model is compiled, or the option relay.conv2d.winograd of a PassContext is off.
std::vector<size_t> winograd_axes(const relay::ConvAttrs& attrs, const WinogradLayer& layer, const relay::Expr& weight,
                                  const PassContext& context);

/// The convolution along these axes, with a weight that is transformed when the model is compiled. `attrs` are those of a direct
/// one with results in blocks of `block` channels; the weight lies in `kernel_layout`.
relay::Expr make_winograd(const Array<relay::Expr>& args, const relay::ConvAttrs& attrs, const String& kernel_layout,
                          int64_t block, const std::vector<size_t>& axes);

}  // namespace tessera::op
