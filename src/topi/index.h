#pragma once
// Elements read by index, and masks over positions.

#include "topi/operand.h"
#include "topi/safe_index.h"

namespace tessera::topi {

/// Elements x[indices] along `axis`; `axis` -1 means of the flattened tensor. Without a check `mode` says what an index that
/// is outside means: "clip", "wrap" or "fast" (some element).
te::Tensor take(const te::Tensor& x, const te::Tensor& indices, int axis, int batch_dims, const String& mode,
                const IndexCheck& check);
/// out[i, j, k] = x[i, indices[i, j, k], k] for axis 1.
te::Tensor gather(const te::Tensor& x, int axis, const te::Tensor& indices, const IndexCheck& check);
/// Each column of `indices` names an element, or the slice x[.., column, ...], after `batch_dims` common dimensions.
te::Tensor gather_nd(const te::Tensor& x, const te::Tensor& indices, int batch_dims, const IndexCheck& check);
/// x[indices[0], indices[1], ...], the indices broadcast to each other.
te::Tensor adv_index(const te::Tensor& x, const Array<te::Tensor>& indices);
/// `on` where the position along `axis` is the index, else `off`.
te::Tensor one_hot(const te::Tensor& indices, const PrimExpr& on, const PrimExpr& off, const PrimExpr& depth, int axis,
                   DataType dtype);
te::Tensor where(const te::Tensor& condition, const te::Tensor& x, const te::Tensor& y);
/// `mask` from element `valid_length` of `axis` (0 or 1) on; the other of the first two dimensions counts sequences.
te::Tensor sequence_mask(const te::Tensor& x, const te::Tensor& valid_length, double mask, int axis);
/// The first lengths[b] elements along `seq_axis` turned round for each b of `batch_axis`; all without lengths.
te::Tensor reverse_sequence(const te::Tensor& x, const te::Tensor& lengths, int seq_axis, int batch_axis);
/// Diagonals k1 to k2 of the last two dimensions replaced.
te::Tensor matrix_set_diag(const te::Tensor& x, const te::Tensor& diagonal, int k1, int k2, bool super_right,
                           bool sub_right);
/// The upper or lower triangle from diagonal k on, zeros elsewhere.
te::Tensor trilu(const te::Tensor& x, const PrimExpr& k, bool upper);
/// Offsets in a flattened tensor of `shape` (a tensor of one dimension) as indices, one row per dimension.
te::Tensor unravel_index(const te::Tensor& offsets, const te::Tensor& shape);

}  // namespace tessera::topi
