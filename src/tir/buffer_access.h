#pragma once
// Ways into a buffer's memory: pointers handed to foreign code, and vector loads and stores.

#include "tir/construct.h"

namespace tessera {

/// A `tir.tvm_access_ptr` call: the address of element `offset` of the flat memory, read (mask bit 1) and written
/// (bit 2) over `extent` elements; an empty extent means all that follow. With `content_lanes` > 1 offset and extent
/// count vectors.
PrimExpr access_ptr(const Buffer& buffer, int access_mask, DataType ptr_type = DataType::Handle(),
                    int content_lanes = 1, PrimExpr offset = 0, PrimExpr extent = nullptr);

/// Loads or stores `dtype.lanes` neighbours along the last dimension, beginning at `begin`.
PrimExpr vload(const Buffer& buffer, Array<PrimExpr> begin, DataType dtype);
Stmt vstore(const Buffer& buffer, Array<PrimExpr> begin, PrimExpr value);

}  // namespace tessera
