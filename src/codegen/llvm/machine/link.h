#pragma once
// Objects linked by LLD, inside this process: no compiler and no linker need be installed.

#include <string>
#include <vector>

namespace tessera::codegen {

/// One relocatable object that holds all of them.
std::string merge_objects(const std::vector<std::string>& objects);

/// What a loader of AMD's devices takes, of an object with kernels for them.
std::string link_device_code(const std::string& object);

/// Writes a shared library of object files (paths). `needed`: libraries that the loader brings along ("libm.so.6"); they need
/// not be on this machine. `blob`: a file whose bytes become the data `__tvm_dev_mblob`; however large, it is not read
/// into memory.
void link_shared(const std::vector<std::string>& files, const std::string& output,
                 const std::vector<std::string>& needed = {}, const std::string& blob = "");

}  // namespace tessera::codegen
