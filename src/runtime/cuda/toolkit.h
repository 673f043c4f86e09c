#pragma once
// Libraries of the CUDA toolkit, opened when they are first needed: nothing here is linked with them.

#include <initializer_list>
#include <string>

namespace tessera::cuda {

/// The folder of the CUDA toolkit, or an empty string.
std::string toolkit_folder();

/// The handle of the first of these libraries that can be opened: in the folders of TESSERA_CUDA_LIBRARIES ("a:b") where that is set, else in the
/// toolkit, or where the dynamic linker looks, libraries that the process has among them. Null where there is none.
void* open_toolkit_library(std::initializer_list<const char*> names);

}  // namespace tessera::cuda
