#pragma once
// The regions of memory that a block touches.

#include "tir/function.h"

namespace tessera {

struct BlockAccess {
  Array<BufferRegion> reads, writes;
  Array<BufferRegion> opaque;  // what is done with their address is not seen: the whole buffer or matched region
};

/// The buffer that lives at a data pointer; empty for pointers that are not of interest.
using BufferAt = std::function<Buffer(const Var&)>;

/// What the body of `block` reads and writes of the buffers that `buffer_at` knows, as one rectangle a buffer, in the
/// order of first use. What is done to a matched buffer is done to its source. Loops inside the block are relaxed to their
/// ranges (under a comparison of a loop variable, to what it leaves), its own iteration variables are points. A reduction
/// block (one with an init) is not said to read what it writes.
BlockAccess block_access(const BlockNode* block, const BufferAt& buffer_at);

/// Gives a parsed function what its text left out: the read and write regions of blocks that carry the annotation
/// "tir.script_parsing_detect_access" (1: reads, 2: writes), and a root block around a body of blocks, which then owns
/// `root_allocations`. In a text that the printer wrote (`is_printed`) there is a root block exactly where it said so, by
/// the name it gave.
PrimFunc complete_script(const PrimFunc& function, const Array<Buffer>& root_allocations, bool is_printed = false,
                         const ObjectRef& root_name = {});

}  // namespace tessera
