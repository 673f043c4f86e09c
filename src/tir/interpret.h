#pragma once
// Runs a loop program step by step: slow, and strict about everything that compiled code is not.

#include <span>

#include "runtime/packed_func.h"
#include "tir/function.h"

namespace tessera {

/// Calls `function` on tensors and numbers. Meant as the yardstick for lowering and code generation: every access is
/// checked to lie inside the buffer (inside the realised rectangle for buffers of the program) and every element read
/// there must have been written. All loops run one iteration after another, threads included. Knows loops, blocks,
/// realised and allocated buffers; vector expressions and calls into other functions are errors.
void interpret(const PrimFunc& function, std::span<const Any> arguments);

}  // namespace tessera
