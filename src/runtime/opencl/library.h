#pragma once
// OpenCL's functions, from the ICD loader of the machine: found at run time, so that nothing here needs it to be there.

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <string>

#include "base/error.h"

namespace tessera::opencl {

// clang-format off: a list in a macro is laid out anew at every run
#define TESSERA_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clCreateCommandQueue) \
  X(clReleaseCommandQueue) X(clCreateBuffer) X(clReleaseMemObject) X(clEnqueueReadBuffer) \
  X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clFinish) X(clFlush) X(clEnqueueMarkerWithWaitList) \
  X(clEnqueueBarrierWithWaitList) X(clReleaseEvent) X(clCreateProgramWithSource) X(clBuildProgram) \
  X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg) \
  X(clEnqueueNDRangeKernel) X(clGetKernelWorkGroupInfo) X(clReleaseContext)
// clang-format on

struct Library {
#define TESSERA_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  TESSERA_OPENCL_FUNCTIONS(TESSERA_DECLARE)
#undef TESSERA_DECLARE
};

/// The loader's functions; null where the machine has no OpenCL.
const Library* find_library();

/// The name of an error code.
std::string error_name(cl_int code);

/// Throws when `code` is not CL_SUCCESS; `what` says what was tried.
inline void check(cl_int code, const std::string& what) {
  if (code != CL_SUCCESS) throw Error(RuntimeError) << "OpenCL: " << what << " failed with " << error_name(code);
}

}  // namespace tessera::opencl
