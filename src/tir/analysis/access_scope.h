#pragma once
// The innermost scope of a program that holds all uses of a buffer.

#include <unordered_map>
#include <vector>

#include "tir/function.h"

namespace tessera {

struct AccessScopes {
  /// By data pointer: the innermost loop (For) or block (BlockNode) around all uses, null where there is none.
  std::unordered_map<const VarNode*, const StmtNode*> scopes;
  std::vector<Buffer> allocated;  // the buffers of blocks, in order of their first allocation
};

/// The scopes of the buffers that blocks of `body` allocate, and of those in `more`. What a reduction block writes lives
/// across its reduction loops, so its scope is outside them; memory that all blocks of a launch share (scope "global")
/// has its scope outside the loops bound to blocks.
AccessScopes access_scopes(const Stmt& body, const std::vector<Buffer>& more = {});

}  // namespace tessera
