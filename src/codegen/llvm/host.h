#pragma once
// What the rest of the compiler asks of LLVM beside code for programs; no header of LLVM's is needed for it.

#include <string>

#include "runtime/module/module.h"

namespace tessera::codegen {

/// The major version of LLVM, and the machine this process runs on, in LLVM's words.
int llvm_version();
std::string host_triple();
std::string host_cpu();

/// A module of constant data only: `__tvm_dev_mblob` as the loader expects it, a 64-bit length and the bytes.
Module build_blob(const Bytes& data, bool for_system_library, const std::string& target);

}  // namespace tessera::codegen
