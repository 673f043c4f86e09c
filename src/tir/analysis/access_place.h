#pragma once
// The innermost place of a program that holds all uses of a buffer.

#include <unordered_map>
#include <vector>

#include "tir/function.h"

namespace tessera {

struct AccessPlaces {
  /// By data pointer: the innermost loop (For) or block (BlockNode) around all uses, null where there is none.
  std::unordered_map<const VarNode*, const StmtNode*> places;
  std::vector<Buffer> allocated;  // the buffers of blocks, in order of their first allocation
};

/// The places of the buffers that blocks of `body` allocate, and of those in `more`. What a reduction block writes lives
/// across its reduction loops, so its place is outside them; memory that all blocks of a launch share (scope "global")
/// has its place outside the loops bound to blocks.
AccessPlaces access_places(const Stmt& body, const std::vector<Buffer>& more = {});

}  // namespace tessera
