// The functions of libcuda.so.1 that src/runtime/cuda/driver.h uses.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef unsigned long long Pointer;
enum { kSuccess = 0, kOutOfMemory = 2, kNoBinary = 209, kLaunchFailed = 719 };

static int fails(const char* what) {
  const char* named = getenv("FAKE_CUDA_FAIL");
  return named && strcmp(named, what) == 0;
}

Result cuInit(unsigned flags) { return kSuccess; }
Result cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
Result cuGetErrorName(Result code, const char** out) {
  *out = code == kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
         : code == kNoBinary     ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
         : code == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED"
                                 : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
Result cuGetErrorString(Result code, const char** out) {
  *out = code == kOutOfMemory    ? "out of memory"
         : code == kNoBinary     ? "no kernel image is available for execution on the device"
         : code == kLaunchFailed ? "unspecified launch failure"
                                 : "unknown error";
  return kSuccess;
}
Result cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
Result cuDeviceGet(int* device, int id) { return *device = id, kSuccess; }
Result cuDeviceGetName(char* name, int size, int device) { return snprintf(name, (size_t)size, "Fake"), kSuccess; }
Result cuDeviceGetAttribute(int* out, int which, int device) {
  *out = which == 75 ? 8 : which == 76 ? 0 : which == 16 ? 4 : which == 10 ? 32 : 1024;
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(void** context, int device) { return *context = (void*)1, kSuccess; }
Result cuCtxSetCurrent(void* context) { return kSuccess; }
Result cuMemAlloc_v2(Pointer* out, size_t bytes) {
  if (fails("memory") && bytes > 1 << 20) return kOutOfMemory;
  void* data = NULL;
  if (posix_memalign(&data, 256, bytes)) return kOutOfMemory;
  return *out = (Pointer)data, kSuccess;
}
Result cuMemFree_v2(Pointer data) { return free((void*)data), kSuccess; }
Result cuMemAllocHost_v2(void** out, size_t bytes) { return (*out = calloc(1, bytes)) ? kSuccess : kOutOfMemory; }
Result cuMemFreeHost(void* data) { return free(data), kSuccess; }
static Result copy(void* to, const void* from, size_t bytes) { return memcpy(to, from, bytes), kSuccess; }
Result cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void* s) {
  return copy((void*)to, from, bytes);
}
Result cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void* s) { return copy(to, (void*)from, bytes); }
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void* s) {
  return copy((void*)to, (void*)from, bytes);
}
Result cuMemcpyPeerAsync(Pointer to, void* there, Pointer from, void* here, size_t bytes, void* s) {
  return copy((void*)to, (void*)from, bytes);
}
Result cuStreamCreate(void** stream, unsigned flags) { return *stream = malloc(1), kSuccess; }
Result cuStreamDestroy_v2(void* stream) { return free(stream), kSuccess; }
Result cuStreamSynchronize(void* stream) { return kSuccess; }
Result cuStreamWaitEvent(void* stream, void* event, unsigned flags) { return kSuccess; }
Result cuStreamBeginCapture_v2(void* stream, int mode) { return kSuccess; }
Result cuStreamEndCapture(void* stream, void** graph) { return *graph = (void*)1, kSuccess; }
Result cuStreamIsCapturing(void* stream, int* status) { return *status = 0, kSuccess; }
Result cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long flags) {
  return *out = (void*)1, kSuccess;
}
Result cuGraphLaunch(void* graph, void* stream) { return kSuccess; }
Result cuGraphDestroy(void* graph) { return kSuccess; }
Result cuGraphExecDestroy(void* graph) { return kSuccess; }
Result cuEventCreate(void** event, unsigned flags) { return *event = malloc(1), kSuccess; }
Result cuEventRecord(void* event, void* stream) { return kSuccess; }
Result cuEventDestroy_v2(void* event) { return free(event), kSuccess; }
Result cuEventSynchronize(void* event) { return kSuccess; }
Result cuEventElapsedTime(float* out, void* begin, void* end) { return *out = 1, kSuccess; }
Result cuModuleLoadDataEx(void** module, const void* code, unsigned count, int* options, void** values) {
  return *module = (void*)1, fails("load") ? kNoBinary : kSuccess;
}
Result cuModuleUnload(void* module) { return kSuccess; }
Result cuModuleGetFunction(void** function, void* module, const char* name) { return *function = (void*)1, kSuccess; }
Result cuFuncSetAttribute(void* function, int which, int value) { return kSuccess; }
Result cuLaunchKernel(void* function, unsigned a, unsigned b, unsigned c, unsigned x, unsigned y, unsigned z,
                      unsigned shared, void* stream, void** arguments, void** extra) {
  return fails("launch") ? kLaunchFailed : kSuccess;
}
