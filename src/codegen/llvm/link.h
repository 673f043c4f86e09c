#pragma once
// Objects put together by LLD, inside this process: no compiler and no linker need be installed.

#include <string>
#include <vector>

namespace tessera::codegen {

/// One relocatable object that holds all of them.
std::string merge_objects(const std::vector<std::string>& objects);

/// Writes a shared library of object files (paths).
void link_shared(const std::vector<std::string>& files, const std::string& output);

}  // namespace tessera::codegen
