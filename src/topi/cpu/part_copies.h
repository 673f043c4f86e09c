#pragma once
// Stages that concatenate tensors: a nest for each part instead of a choice for each element.

#include "topi/block_rule.h"

namespace tessera::topi {

/// The nests that together do what one stage does, each over the elements of one part, where the stage chooses by
/// comparing one of its axes with numbers:
///   for i in 96: out[i] = f(if i >= 64 then b[i - 64] else a[i])
///     =>  for i in 64: out[i] = f(a[i]);  for i in 32: out[i + 64] = f(b[i])
/// Empty where the stage has no such form, or parts are so small that choosing costs less. Nests are plain loops around
/// one block each, as those of a function that is not scheduled yet.
std::vector<Stmt> part_copies(const schedule::Cursor& cursor);

}  // namespace tessera::topi
