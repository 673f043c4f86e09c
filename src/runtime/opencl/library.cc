#include "runtime/opencl/library.h"

#include <dlfcn.h>

namespace tessera::opencl {

const Library* find_library() {
  static const Library* library = []() -> const Library* {
    void* handle = nullptr;
    for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"})
      if (!handle) handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return nullptr;
    auto* found = new Library;
    bool is_whole = true;
#define TESSERA_FIND(NAME) \
  is_whole &= (found->NAME = reinterpret_cast<decltype(&::NAME)>(dlsym(handle, #NAME))) != nullptr;
    TESSERA_OPENCL_FUNCTIONS(TESSERA_FIND)
#undef TESSERA_FIND
    return is_whole ? found : nullptr;
  }();
  return library;
}

std::string error_name(cl_int code) {
  struct Row {
    cl_int code;
    const char* name;
  };
  static constexpr Row rows[] = {
      {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_MEM_COPY_OVERLAP, "CL_MEM_COPY_OVERLAP"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
      {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
      {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
      {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
      {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
      {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
      {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
  };
  for (const Row& row : rows)
    if (row.code == code) return row.name;
  return "error " + std::to_string(code);
}

}  // namespace tessera::opencl
