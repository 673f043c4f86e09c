/* The C border of Tessera: one value slot, one function signature, and the calls that work with them.
 *
 * Layouts and type codes are those of TVM v0.10, so compiled libraries and C callers of that runtime need no
 * adapter. Every call returns 0 on success and -1 on failure; TesseraGetLastError tells what went wrong in the
 * calling thread. */
#ifndef TESSERA_C_API_H_
#define TESSERA_C_API_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#define TESSERA_C_API_VERSION 1
#if defined(_WIN32)
#define TESSERA_DLL __declspec(dllexport)
#else
#define TESSERA_DLL __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a value slot holds. */
enum TesseraTypeCode {
  kTesseraInt = 0,       /* v_int64 (bool travels as int) */
  kTesseraFloat = 2,     /* v_float64 */
  kTesseraHandle = 3,    /* v_handle, meaning known to the two sides only */
  kTesseraNull = 4,      /* no value */
  kTesseraDataType = 5,  /* v_type */
  kTesseraDevice = 6,    /* v_device */
  kTesseraDLTensor = 7,  /* v_handle is a borrowed DLTensor* */
  kTesseraObject = 8,    /* v_handle is a counted object */
  kTesseraModule = 9,    /* v_handle is a runtime module */
  kTesseraFunction = 10, /* v_handle is a packed function */
  kTesseraStr = 11,      /* v_str, ends with a zero byte */
  kTesseraBytes = 12,    /* v_handle is a TesseraByteArray* */
  kTesseraNDArray = 13,  /* v_handle points at the DLTensor inside the tensor object */
  kTesseraRValueRef = 14 /* v_handle is an object** that the callee may take over */
};

typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
  DLDataType v_type;
  DLDevice v_device;
} TesseraValue;

typedef struct {
  const char* data;
  size_t size;
} TesseraByteArray;

typedef void* TesseraModuleHandle;
typedef void* TesseraFunctionHandle;
typedef void* TesseraRetHandle;
typedef void* TesseraObjectHandle;
typedef void* TesseraStreamHandle;
typedef DLTensor* TesseraArrayHandle;

/* The signature of a C function that can be called by name: arguments as values and type codes, the answer through
 * TesseraCFuncSetReturn(ret, ...). */
typedef int (*TesseraPackedCFunc)(TesseraValue* args, int* type_codes, int num_args, TesseraRetHandle ret,
                                  void* resource_handle);
typedef void (*TesseraPackedCFuncFinalizer)(void* resource_handle);

/* The signature of compiled functions: the answer is stored in *ret_value and *ret_type_code. */
typedef int (*TesseraCompiledFunc)(TesseraValue* args, int* type_codes, int num_args, TesseraValue* ret_value,
                                   int* ret_type_code, void* resource_handle);

/* A library of C functions declares its functions through one of these: see `runtime.module` and register_func. */
typedef int (*TesseraExtensionFuncDeclarer)(TesseraFunctionHandle register_func);

#define TESSERA_API(result, name, parameters, arguments) TESSERA_DLL result Tessera##name parameters;
#include <tessera/c_api_functions.h>
#undef TESSERA_API

#ifdef __cplusplus
}
#endif
#endif
