#pragma once
// Elements moved between space and channels, or space and batch.

#include "te/tensor.h"

namespace tessera::topi {

/// Blocks of `block` x `block` pixels become channels: of the new channel the position in the block is the slow part.
te::Tensor space_to_depth(const te::Tensor& data, int block, const String& layout);
/// Channels become blocks of pixels. mode "DCR": the position in the block is the slow part of the channel; "CRD": the
/// fast one.
te::Tensor depth_to_space(const te::Tensor& data, int block, const String& layout, const String& mode);

/// Dimensions 1, 2, ... are padded and split into blocks; the position in the block becomes the slow part of the batch.
te::Tensor space_to_batch_nd(const te::Tensor& data, const Array<PrimExpr>& block, const Array<PrimExpr>& before,
                             const Array<PrimExpr>& after, const PrimExpr& value);
/// The way back, with a border taken off.
te::Tensor batch_to_space_nd(const te::Tensor& data, const Array<PrimExpr>& block, const Array<PrimExpr>& crop_before,
                             const Array<PrimExpr>& crop_after);

}  // namespace tessera::topi
