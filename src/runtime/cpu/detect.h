#pragma once
// What the CPU has, and what the system lets a process use of it.

#include "runtime/cpu/feature_table.h"

namespace tessera {

/// True where this CPU has the feature and the system saves the registers it needs. For AMX, whose registers Linux gives to
/// processes that ask, this asks for them.
bool detected(const CpuFeature& feature);

/// The length of this CPU's SVE vectors in bits, as the system lets this process use them; 0 where it has none.
int sve_bits();

}  // namespace tessera
