#pragma once

#include "runtime/module/module.h"

namespace tessera::opencl {

/// Code, its form, and the table of kernels as bytes: what the compiler hands over.
Module create_module(std::string code, const Bytes& table);

}  // namespace tessera::opencl
