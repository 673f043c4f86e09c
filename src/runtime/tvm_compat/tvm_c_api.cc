// libtvm_runtime: every call of the C border under its name in TVM v0.10.

#include <tvm/runtime/c_backend_api.h>

extern "C" {

#define TESSERA_API(result, name, parameters, arguments) \
  result TVM##name parameters { return Tessera##name arguments; }
#include <tessera/c_api_functions.h>
#undef TESSERA_API

// The runtime has these under the same names; this library offers them too, so that it alone is enough to link.
#define TESSERA_API(result, name, parameters, arguments) \
  result TVMBackend##name parameters { return TesseraBackend##name arguments; }
#include <tessera/c_backend_functions.h>
#undef TESSERA_API
}
