#pragma once
// Buffers whose values live longer than an iteration of a loop.

#include <unordered_map>

#include "tir/analysis/access_scope.h"

namespace tessera {

/// Moves the scopes of buffers that blocks allocate out of every serial loop in which an iteration is seen to read what
/// an earlier one wrote: it reads elements that it does not write (a window that rolls), or reads before it writes.
///   for i: { B[i] = f(i); C[i] = g(B[i - 1], B[i]) }      B's scope is outside loop i
void move_out_of_carrying_loops(const Stmt& body, AccessScopes* access);

}  // namespace tessera
