#pragma once

#include "tir/function.h"

namespace tessera {

/// What is wrong with a function: a variable used outside its scope, types that do not agree. Empty when nothing is.
std::string ill_formed(const PrimFunc& function);

}  // namespace tessera
