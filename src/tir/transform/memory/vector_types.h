#pragma once

#include "tir/stmt.h"

namespace tessera {

/// Memory that is only accessed by vectors of one length, each at a multiple of it, becomes memory of such vectors:
///   allocate T: float32[256]; T[ramp(i*16, 1, 16)]     =>     allocate T: float32x16[16]; T[i]
Stmt use_vector_types(const Stmt& body);

}  // namespace tessera
