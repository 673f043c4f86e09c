#include "runtime/cuda/vendor/cublaslt_library.h"

#include <dlfcn.h>

#include "runtime/cuda/toolkit.h"

namespace tessera::cuda::lt {

static const Library* find_library() {
  static const Library* found = []() -> const Library* {
    void* handle = open_toolkit_library({"libcublasLt.so", "libcublasLt.so.13", "libcublasLt.so.12"});
    if (!handle) return nullptr;
    auto* out = new Library;
    bool is_whole = true;
#define TESSERA_FIND(NAME, PARAMETERS) \
  is_whole &= (out->NAME = reinterpret_cast<decltype(out->NAME)>(dlsym(handle, #NAME))) != nullptr;
    TESSERA_CUBLASLT_FUNCTIONS(TESSERA_FIND)
#undef TESSERA_FIND
    out->status_text = reinterpret_cast<const char* (*)(int)>(dlsym(handle, "cublasLtGetStatusString"));
    is_whole &= out->status_text != nullptr;
    return is_whole ? out : nullptr;
  }();
  return found;
}

const Library& library() {
  const Library* found = find_library();
  if (!found)
    throw Error(RuntimeError) << "cuBLASLt is not there (libcublasLt.so.13 or .12): install the CUDA toolkit, name the "
                                 "folder that has it in TESSERA_CUDA_LIBRARIES, or compile without -libs=cublas";
  return *found;
}

void succeed(int status, const char* what) {
  if (status != 0) throw Error(RuntimeError) << "cuBLASLt: " << what << " failed: " << library().status_text(status);
}

}  // namespace tessera::cuda::lt
