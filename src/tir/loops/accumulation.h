#pragma once
// How a reduction block accumulates: one buffer by a sum, or several at once by choosing between two sets of values.

#include <vector>

#include "tir/stmt.h"

namespace tessera::loops {

/// One result: C[indices] = value, where `value` combines C[indices] with `element`. It begins with `init`.
struct Accumulated {
  Buffer buffer;
  Array<PrimExpr> indices;
  PrimExpr value, element, init;
};

/// What the block accumulates; empty where that is not known. Known are C op e, where op is +, *, min or max (`value` has
/// C[indices] on its left), and
///   R0, R1 = Select(keep(R, x), R0, x0), Select(keep(R, x), R1, x1)
/// as argmin and argmax have it (either branch may keep).
std::vector<Accumulated> match_accumulation(const BlockNode* block);

/// True when a result that is alone begins with what changes nothing: 0 of a sum, 1 of a product, and so on.
bool begins_with_identity(const Accumulated& result);

/// `value` of each result with other values in place of what is there (`current`) and of what is taken in (`elements`).
Array<PrimExpr> combined(const std::vector<Accumulated>& results, const Array<PrimExpr>& current,
                         const Array<PrimExpr>& elements);

/// A body that takes in other values by the same rule: `elements`, one for each result.
Stmt with_elements(const std::vector<Accumulated>& results, const Array<PrimExpr>& elements);

}  // namespace tessera::loops
