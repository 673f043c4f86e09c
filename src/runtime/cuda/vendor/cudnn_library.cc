#include "runtime/cuda/vendor/cudnn_library.h"

#include <dlfcn.h>

#include "runtime/cuda/toolkit.h"

namespace tessera::cuda::dnn {

const DnnLibrary* find_cudnn() {
  static const DnnLibrary* found = []() -> const DnnLibrary* {
    void* handle = open_toolkit_library({"libcudnn.so", "libcudnn.so.9", "libcudnn.so.8"});
    if (!handle) return nullptr;
    auto* out = new DnnLibrary;
    bool is_whole = true;
#define TESSERA_FIND(NAME, PARAMETERS) \
  is_whole &= (out->NAME = reinterpret_cast<decltype(out->NAME)>(dlsym(handle, #NAME))) != nullptr;
    TESSERA_CUDNN_FUNCTIONS(TESSERA_FIND)
#undef TESSERA_FIND
    out->status_text = reinterpret_cast<const char* (*)(int)>(dlsym(handle, "cudnnGetErrorString"));
    is_whole &= out->status_text != nullptr;
    return is_whole ? out : nullptr;
  }();
  return found;
}

const DnnLibrary& cudnn() {
  const DnnLibrary* found = find_cudnn();
  if (!found)
    throw Error(RuntimeError) << "cuDNN is not there (libcudnn.so.9 or .8): install it, name the folder that has it in "
                                 "TESSERA_CUDA_LIBRARIES, or compile without -libs=cudnn";
  return *found;
}

void check_dnn(int status, const char* what) {
  if (status != 0) throw Error(RuntimeError) << "cuDNN: " << what << " failed: " << cudnn().status_text(status);
}

}  // namespace tessera::cuda::dnn
