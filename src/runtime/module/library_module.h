#pragma once
// Code that is linked into the program: its symbols make up the module `runtime.SystemLib`.

#include <string>

namespace tessera {

/// Called by static initialisers of linked-in code, before or after the module is first asked for.
void register_system_symbol(const std::string& name, void* address);

}  // namespace tessera
