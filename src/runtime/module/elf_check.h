#pragma once
// A look at a shared library before the system's loader maps it: that one trusts the file, and a library cut short by an
// interrupted copy would end the process.

#include <string>

namespace tessera {

/// Throws an error that names the file and what is wrong with it, unless it is a whole library for this machine.
void check_library_file(const std::string& path);

}  // namespace tessera
