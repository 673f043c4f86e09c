#pragma once

#include "op/record.h"

namespace tessera::op {

/// For tables of operators: mixed precision leaves the type to the inputs.
inline void follows(OpRecord& op) { op.precision(Precision::Follow); }

}  // namespace tessera::op
