#pragma once
// A run as a timeline, for chrome://tracing and ui.perfetto.dev: one bar for each kernel, and one for each
// piece of it that another thread does.

#include <string>

#include "runtime/archive/npy.h"
#include "runtime/module/module.h"

namespace tessera::cli {

/// Runs the compiled model (a factory of graph executors, or a program of the virtual machine) and writes what happened, as
/// JSON of Chrome's "trace event" form. One run before it warms caches and is not shown; `runs` are.
void write_trace(const std::string& path, const Module& compiled, DLDevice device, const NamedTensors& inputs,
                 int runs);

}  // namespace tessera::cli
