#pragma once

#include "tir/stmt.h"

namespace tessera {

/// What the calls of checked_index in a program say of where they stand, each text once, in the order of the program.
std::vector<std::string> checked_index_texts(const Stmt& body);

}  // namespace tessera
