#pragma once

#include "ir/target/target.h"
#include "tir/function.h"

namespace tessera {

/// What the function is compiled for; an error that names the pass where nobody said.
Target require_target(const PrimFunc& function, const char* pass_name);

}  // namespace tessera
