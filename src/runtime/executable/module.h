#pragma once
// A compiled program behind the functions that v0.10's executors have.

#include "runtime/executable/executable.h"

namespace tessera {

/// set_input, run, get_output and their like. What `lib["default"](device)` gives for models with dynamic shapes or control
/// flow: results are listed with tuples opened; how many there are is known once it ran. A dynamic extent of an input is -1.
Module make_executor_module(std::unique_ptr<Executable> executable, DLDevice device);

}  // namespace tessera
