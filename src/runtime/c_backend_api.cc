// What compiled code calls, in the order of tessera/c_backend_functions.h. Parallel regions: thread_pool.cc.

#include "tessera/c_backend_api.h"

#include "runtime/c_border.h"
#include "runtime/device_api.h"
#include "runtime/module/library_module.h"
#include "runtime/module/module.h"

using namespace tessera;  // NOLINT: this file is the C names of what is in there

extern "C" {

int TesseraBackendGetFuncFromEnv(void* mod_node, const char* func_name, TesseraFunctionHandle* out) {
  return at_border([&] {
    if (!mod_node) throw Error(RuntimeError) << "compiled code asks for " << func_name << " before it was loaded";
    auto* module = static_cast<const ModuleNode*>(static_cast<const Object*>(mod_node));
    *out = static_cast<Object*>(const_cast<PackedFuncNode*>(module->function_of_environment(func_name)));
  });
}

int TesseraBackendRegisterSystemLibSymbol(const char* name, void* address) {
  return at_border([&] { register_system_symbol(name, address); });
}

int TesseraBackendRegisterEnvCAPI(const char* name, void*) {
  return at_border([&] {
    throw Error(NotImplementedError) << "this runtime calls no functions of its host language, so " << name
                                     << " has no use here";
  });
}

void* TesseraBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int, int) {
  void* data = nullptr;
  at_border([&] {
    if (nbytes > SIZE_MAX) throw Error(RuntimeError) << "out of memory: a workspace of " << nbytes << " bytes";
    DLDevice device = make_device(device_type, device_id);
    data = get_device_api(device)->alloc_workspace(device, nbytes);
  });
  return data;
}

int TesseraBackendFreeWorkspace(int device_type, int device_id, void* data) {
  return at_border([&] {
    DLDevice device = make_device(device_type, device_id);
    get_device_api(device)->free_workspace(device, data);
  });
}

int TesseraBackendRunOnce(void** handle, int (*f)(void*), void* cdata, int) {
  if (*handle) return 0;
  *handle = reinterpret_cast<void*>(1);
  return f(cdata);
}

#define TESSERA_API(result, name, parameters, arguments) \
  result TVMBackend##name parameters { return TesseraBackend##name arguments; }
#include <tessera/c_backend_functions.h>
#undef TESSERA_API
}
