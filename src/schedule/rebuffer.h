#pragma once
// Replacing one buffer by another in a part of the program.

#include "schedule/state.h"

namespace tessera::schedule {

/// The block may touch the buffer: it allocates it, declares regions of it, or has bindings that might load it; always true
/// of blocks without axes, whose regions nobody writes down.
bool mentions(const BlockRealize* realize, const Buffer& buffer);
/// `stmt` with every access, region, allocation and view of `old` taken from `fresh` instead.
Stmt replace_buffer(const Stmt& stmt, const Buffer& old, const Buffer& fresh);
/// A buffer like `buffer` in another memory, named after both: A_shared.
Buffer with_scope(const Buffer& buffer, const String& scope);
/// The block around `cursor` that allocates `buffer`; a ScheduleError when it is a parameter or a view.
const BlockRealize* require_allocated(const Cursor& cursor, const Buffer& buffer);
/// The block with its read regions found anew from its body; those of buffers seen through views stay as they were.
Block with_found_reads(const Block& block);

}  // namespace tessera::schedule
