#pragma once
// CUDA C++ into code for a device: by NVRTC where its library is there, else by nvcc.

#include <string>

namespace tessera::cuda {

/// `source` for "sm_90"; `form` is "ptx" or "cubin". An error holds the compiler's words and the source.
std::string compile(const std::string& source, const std::string& arch, const std::string& form);

}  // namespace tessera::cuda
