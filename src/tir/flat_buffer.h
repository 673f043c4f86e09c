#pragma once
// How a multi-dimensional buffer lies in memory: offsets of elements and the flat view of the same memory.

#include "tir/buffer.h"

namespace tessera {

/// The offset of element `indices` from `buffer->data`, counted in elements of the buffer; one number for each physical
/// dimension (one more than there are axis separators). Strides are used where the buffer has them.
Array<PrimExpr> flat_indices(const Buffer& buffer, const Array<PrimExpr>& indices);

/// The same memory as one dimension (one for each physical dimension): no strides, and the length is that of a compact
/// row-major buffer, or stride times extent of the first dimension. Bool becomes int8, the form it is stored in.
Buffer flat_buffer(const Buffer& buffer);

/// Strides of a compact row-major buffer of that shape.
Array<PrimExpr> compact_strides(const Array<PrimExpr>& shape);

}  // namespace tessera
