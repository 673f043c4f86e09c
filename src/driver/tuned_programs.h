#pragma once
// Databases of tuned programs that `with database:` has entered.

#include "kernel/environment.h"

namespace tessera {

/// What kernels are compiled with: where "relay.backend.use_meta_schedule" is set, also the programs of the database that this
/// thread has entered last. Where "cuda.measure_kernels" is set and this machine has the device, kernels are measured there.
kernel::CompileEnvironment compile_environment(const Target& target, const Target& host, const PassContext& passes);

}  // namespace tessera
