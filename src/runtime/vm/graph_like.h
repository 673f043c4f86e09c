#pragma once
// A program of the virtual machine with the functions of the graph executor.

#include "runtime/vm/executable.h"

namespace tessera::vm {

/// One caller's executor of "main": what `lib["default"](device)` gives for models with open shapes or control flow.
/// Results are listed with tuples opened; how many there are is known once it ran. An open extent of an input is -1.
Module make_graph_like(const Module& executable, std::vector<DLDevice> devices);

}  // namespace tessera::vm
