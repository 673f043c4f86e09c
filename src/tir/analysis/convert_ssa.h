#pragma once

#include "tir/stmt.h"

namespace tessera {

/// Gives every definition of a variable (let, loop, allocation) a variable of its own: the first keeps the old one,
/// later ones get new variables of the same name.
Stmt convert_ssa(const Stmt& body);

}  // namespace tessera
