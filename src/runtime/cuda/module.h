#pragma once

#include "runtime/module/module.h"

namespace tessera::cuda {

/// What compilers hand over: code and its form ("cu" for none yet), the table of kernels as bytes, source (may be empty)
/// and the architecture it is meant for.
Module create_module(std::string code, std::string form, const Bytes& table, std::string source, std::string arch);

}  // namespace tessera::cuda
