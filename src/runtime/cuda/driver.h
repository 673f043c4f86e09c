#pragma once
// The CUDA driver's functions, from libcuda.so.1 of the machine: found at run time, so that nothing here needs CUDA to be
// installed. The declarations are those of cuda.h that we use.

#include <cstddef>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace tessera::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kUnsupportedPtxVersion = 222;

/// Facts that cuDeviceGetAttribute tells.
enum DeviceFact : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

inline constexpr int kMaxDynamicSharedSize = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

// clang-format off
/// Name in the library, result and parameters.
#define TESSERA_CUDA_FUNCTIONS(X)                                                                          \
  X(cuInit, (unsigned))                                                                                    \
  X(cuDriverGetVersion, (int*))                                                                            \
  X(cuGetErrorName, (CUresult, const char**))                                                              \
  X(cuGetErrorString, (CUresult, const char**))                                                            \
  X(cuDeviceGetCount, (int*))                                                                              \
  X(cuDeviceGet, (CUdevice*, int))                                                                         \
  X(cuDeviceGetName, (char*, int, CUdevice))                                                               \
  X(cuDeviceGetAttribute, (int*, int, CUdevice))                                                           \
  X(cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                                                      \
  X(cuCtxSetCurrent, (CUcontext))                                                                          \
  X(cuMemAlloc_v2, (CUdeviceptr*, size_t))                                                                 \
  X(cuMemFree_v2, (CUdeviceptr))                                                                           \
  X(cuMemAllocHost_v2, (void**, size_t))                                                                   \
  X(cuMemFreeHost, (void*))                                                                                \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void*, size_t, CUstream))                                    \
  X(cuMemcpyDtoHAsync_v2, (void*, CUdeviceptr, size_t, CUstream))                                          \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                    \
  X(cuMemcpyPeerAsync, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))                 \
  X(cuStreamCreate, (CUstream*, unsigned))                                                                 \
  X(cuStreamDestroy_v2, (CUstream))                                                                        \
  X(cuStreamSynchronize, (CUstream))                                                                       \
  X(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                                      \
  X(cuStreamBeginCapture_v2, (CUstream, int))                                                              \
  X(cuStreamEndCapture, (CUstream, CUgraph*))                                                              \
  X(cuStreamIsCapturing, (CUstream, int*))                                                                 \
  X(cuGraphInstantiateWithFlags, (CUgraphExec*, CUgraph, unsigned long long))                              \
  X(cuGraphLaunch, (CUgraphExec, CUstream))                                                                \
  X(cuGraphDestroy, (CUgraph))                                                                             \
  X(cuGraphExecDestroy, (CUgraphExec))                                                                     \
  X(cuEventCreate, (CUevent*, unsigned))                                                                   \
  X(cuEventRecord, (CUevent, CUstream))                                                                    \
  X(cuEventDestroy_v2, (CUevent))                                                                          \
  X(cuEventSynchronize, (CUevent))                                                                         \
  X(cuEventElapsedTime, (float*, CUevent, CUevent))                                                        \
  X(cuModuleLoadDataEx, (CUmodule*, const void*, unsigned, int*, void**))                                  \
  X(cuModuleUnload, (CUmodule))                                                                            \
  X(cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                                             \
  X(cuFuncSetAttribute, (CUfunction, int, int))                                                            \
  X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
                     CUstream, void**, void**))
// clang-format on

struct Driver {
#define TESSERA_DECLARE(NAME, PARAMETERS) CUresult(*NAME) PARAMETERS = nullptr;
  TESSERA_CUDA_FUNCTIONS(TESSERA_DECLARE)
#undef TESSERA_DECLARE
  int device_count = 0;
};

/// The driver, initialised; null where the machine has none or it finds no device.
const Driver* find_driver();
/// The same, where absence is an error.
const Driver& driver();

/// Throws when `code` is no success; `what` says what was tried.
void check(CUresult code, const std::string& what);

}  // namespace tessera::cuda
