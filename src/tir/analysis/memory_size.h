#pragma once
// How many bytes a program allocates.

#include "tir/function.h"

namespace tessera {

/// The most bytes that exist at one time, each allocation a multiple of `alignment`: those inside one another add up,
/// those side by side share. Sizes that are known only at run time count as none.
int64_t workspace_bytes(const PrimFunc& function, int64_t alignment);
/// The bytes of all constants inside a program, which live as long as it does.
int64_t constant_bytes(const PrimFunc& function, int64_t alignment);
/// The bytes that the extents of one constant take. Its data may be shorter: zeros follow.
int64_t constant_bytes(const AllocateConst* op);

}  // namespace tessera
