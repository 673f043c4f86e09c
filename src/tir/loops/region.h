#pragma once
// The rectangles of buffers that a piece of program touches.

#include "tir/loops/interval.h"
#include "tir/stmt.h"

namespace tessera::loops {

struct BlockRegions {
  Array<BufferRegion> reads, writes;
};

/// What the body and init of a block read and write, each buffer once, in order of first access: the hull of all
/// accesses, over the whole range of loops inside the block. Buffers that a reduction updates count as written only.
/// What is read under unknown indices is taken whole.
BlockRegions block_regions(const BlockNode& block);

}  // namespace tessera::loops
