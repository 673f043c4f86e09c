#pragma once
// Statements that an operator wrote itself (sorting, scans, scatters): no blocks, so no schedule.

#include "tir/function.h"

namespace tessera::topi {

/// Makes kernels of the statements that stand outside of blocks: a parallel loop is shared by blocks of one thread, any
/// other statement is run by one thread. A call of a function of the host is an error.
PrimFunc bind_own_statements(const PrimFunc& function);

}  // namespace tessera::topi
