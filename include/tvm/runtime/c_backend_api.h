/* What compiled code needs of the runtime, in the names of TVM v0.10. */
#ifndef TVM_RUNTIME_C_BACKEND_API_H_
#define TVM_RUNTIME_C_BACKEND_API_H_

#include <tessera/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

typedef TesseraCompiledFunc TVMBackendPackedCFunc;
typedef TesseraParallelGroupEnv TVMParallelGroupEnv;
typedef TesseraParallelTask FTVMParallelLambda;

#endif
