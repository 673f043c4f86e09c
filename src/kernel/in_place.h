#pragma once
// Which outputs of a kernel may lie where one of its inputs does.

#include "tir/function.h"

namespace tessera::kernel {

/// Parameter `output` of a program may be given the memory of parameter `input`.
struct InPlace {
  uint32_t input, output;
};

/// All such pairs of a program of blocks that are proven: both tensors have equal extents and element sizes, every
/// element of the output is stored once, by one statement, and the input is read there only, at the element that is
/// stored. Nothing else of the program touches either. A program called so must not be compiled as if its parameters
/// never overlapped (`tir.noalias`).
std::vector<InPlace> find_in_place(const PrimFunc& function);

}  // namespace tessera::kernel
