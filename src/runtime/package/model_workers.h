#pragma once
// The two kinds of executors behind a Model.

#include "runtime/package/model.h"

namespace tessera {

/// An executor that a factory makes, by its packed functions; AOT and graph executors are such.
std::unique_ptr<ModelWorker> make_executor_worker(const Module& factory, DLDevice device);
/// A virtual machine that calls the function "main".
std::unique_ptr<ModelWorker> make_machine_worker(const Module& executable, DLDevice device);

}  // namespace tessera
