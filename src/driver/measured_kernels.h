#pragma once
// How long a kernel takes on the device of this machine.

#include "ir/pass/pass.h"
#include "ir/target/target.h"
#include "tir/function.h"

namespace tessera {

/// True where this machine has a device that runs programs of the target and records work.
bool can_measure(const Target& target);
/// Seconds of one call, of several that are recorded and launched as one. Arguments are random numbers of small size.
double measured_seconds(const PrimFunc& program, const Target& target, const Target& host, const PassContext& passes);

}  // namespace tessera
