#pragma once
// Statements that an operator wrote itself (sorting, scans, scatters): no blocks, so no schedule.

#include "schedule/state.h"
#include "tir/function.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// A block without axes: the program of one operator among several.
bool has_own_statements(const schedule::Cursor& block);

/// Makes kernels of the statements that stand outside of blocks, or in such a one: a parallel loop is shared by blocks of one thread, any
/// other statement is run by one thread. A call of a function of the host becomes kernels that do the same (device_sort.h), or stays
/// with the host; inside of loops it is an error.
PrimFunc bind_own_statements(const PrimFunc& function, const GpuMachine& machine);

}  // namespace tessera::topi
