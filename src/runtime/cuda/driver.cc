#include "runtime/cuda/driver.h"

#include <dlfcn.h>

namespace tessera::cuda {

const Driver* find_driver() {
  static const Driver* found = []() -> const Driver* {
    void* handle = nullptr;
    for (const char* name : {"libcuda.so.1", "libcuda.so"})
      if (!handle) handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return nullptr;
    auto* out = new Driver;
    bool is_whole = true;
#define TESSERA_FIND(NAME, PARAMETERS) \
  is_whole &= (out->NAME = reinterpret_cast<decltype(out->NAME)>(dlsym(handle, #NAME))) != nullptr;
    TESSERA_CUDA_FUNCTIONS(TESSERA_FIND)
#undef TESSERA_FIND
    // The stub library that toolkits ship for linking fails here.
    if (!is_whole || out->cuInit(0) != kSuccess || out->cuDeviceGetCount(&out->device_count) != kSuccess) {
      delete out;
      return nullptr;
    }
    return out;
  }();
  return found;
}

const Driver& driver() {
  const Driver* found = find_driver();
  if (!found)
    throw Error(RuntimeError) << "there is no CUDA device on this machine: the driver (libcuda.so.1) was not found or "
                                 "found no device";
  return *found;
}

void check(CUresult code, const std::string& what) {
  if (code == kSuccess) return;
  const char *name = nullptr, *words = nullptr;
  driver().cuGetErrorName(code, &name);
  driver().cuGetErrorString(code, &words);
  throw Error(RuntimeError) << "CUDA: " << what << " failed with " << (name ? name : std::to_string(code).c_str())
                            << (words ? std::string(": ") + words : "");
}

}  // namespace tessera::cuda
