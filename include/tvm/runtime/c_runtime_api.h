/* The C interface of TVM v0.10 in its own names, for programs and generated sources written to it. Link libtvm_runtime.
 * The calls are described in tessera/c_api_functions.h. */
#ifndef TVM_RUNTIME_C_RUNTIME_API_H_
#define TVM_RUNTIME_C_RUNTIME_API_H_

#include <tessera/c_api.h>

#define TVM_VERSION "0.10.0"
#define TVM_DLL TESSERA_DLL
#define TVM_WEAK __attribute__((weak))
#define TVM_HARD_ASSERT_MAX_STACK_ALLOCA 1024

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t tvm_index_t;
typedef DLDevice TVMDevice;

typedef enum {
  kTVMArgInt = kDLInt,
  kTVMArgFloat = kDLFloat,
  kTVMOpaqueHandle = kTesseraHandle,
  kTVMNullptr = kTesseraNull,
  kTVMDataType = kTesseraDataType,
  kDLDevice = kTesseraDevice,
  kTVMDLTensorHandle = kTesseraDLTensor,
  kTVMObjectHandle = kTesseraObject,
  kTVMModuleHandle = kTesseraModule,
  kTVMPackedFuncHandle = kTesseraFunction,
  kTVMStr = kTesseraStr,
  kTVMBytes = kTesseraBytes,
  kTVMNDArrayHandle = kTesseraNDArray,
  kTVMObjectRValueRefArg = kTesseraRValueRef,
  kTVMExtBegin = 15,
  kTVMNNVMFirst = 16,
  kTVMNNVMLast = 20,
  kTVMExtReserveEnd = 64,
  kTVMExtEnd = 128
} TVMArgTypeCode;

typedef TesseraValue TVMValue;
typedef TesseraByteArray TVMByteArray;
typedef TesseraModuleHandle TVMModuleHandle;
typedef TesseraFunctionHandle TVMFunctionHandle;
typedef TesseraRetHandle TVMRetValueHandle;
typedef TesseraStreamHandle TVMStreamHandle;
typedef TesseraObjectHandle TVMObjectHandle;
typedef TesseraArrayHandle TVMArrayHandle;
typedef TesseraPackedCFunc TVMPackedCFunc;
typedef TesseraPackedCFuncFinalizer TVMPackedCFuncFinalizer;
typedef TesseraExtensionFuncDeclarer TVMExtensionFuncDeclarer;

#define TESSERA_API(result, name, parameters, arguments) TESSERA_DLL result TVM##name parameters;
#include <tessera/c_api_functions.h>
#undef TESSERA_API

#ifdef __cplusplus
}
#endif
#endif
