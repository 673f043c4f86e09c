/* The calls of the C border, one row each:
 *
 *   TESSERA_API(result, name without prefix, (parameters), (arguments))
 *
 * The file is included with TESSERA_API defined: tessera/c_api.h declares the rows as Tessera<name>, the library
 * libtvm_runtime and tvm/runtime/c_runtime_api.h offer them as TVM<name>. An int result is 0, or -1 for a failure that
 * GetLastError describes. Handles given out belong to the caller, who frees them with the matching call. */

/* ---- errors, one for each thread ---- */

/* What the calling thread's last failure was: "Kind: message". Valid until its next failure. */
TESSERA_API(const char*, GetLastError, (void), ())
/* Lets a C function fail: set the message ("ValueError: ..." chooses the kind), then return -1. */
TESSERA_API(void, APISetLastError, (const char* message), (message))

/* ---- functions ---- */

/* A string or bytes in *ret lives until the calling thread's next call; objects belong to the caller. */
TESSERA_API(int, FuncCall,
            (TesseraFunctionHandle function, TesseraValue* args, int* type_codes, int num_args, TesseraValue* ret,
             int* ret_type_code),
            (function, args, type_codes, num_args, ret, ret_type_code))
TESSERA_API(int, FuncFree, (TesseraFunctionHandle function), (function))
/* `finalizer`, which may be NULL, gets `resource_handle` when the function is no longer used. */
TESSERA_API(int, FuncCreateFromCFunc,
            (TesseraPackedCFunc function, void* resource_handle, TesseraPackedCFuncFinalizer finalizer,
             TesseraFunctionHandle* out),
            (function, resource_handle, finalizer, out))
/* The answer of a TesseraPackedCFunc; num_ret is 1. */
TESSERA_API(int, CFuncSetReturn, (TesseraRetHandle ret, TesseraValue* value, int* type_code, int num_ret),
            (ret, value, type_code, num_ret))
/* Turns a borrowed argument of a callback into a value the caller owns. */
TESSERA_API(int, CbArgToReturn, (TesseraValue * value, int* type_code), (value, type_code))
TESSERA_API(int, FuncRegisterGlobal, (const char* name, TesseraFunctionHandle function, int override_existing),
            (name, function, override_existing))
/* *out is NULL when there is no such function. */
TESSERA_API(int, FuncGetGlobal, (const char* name, TesseraFunctionHandle* out), (name, out))
/* The names live until the calling thread's next call of this function. */
TESSERA_API(int, FuncListGlobalNames, (int* out_size, const char*** out_array), (out_size, out_array))
TESSERA_API(int, FuncRemoveGlobal, (const char* name), (name))

/* ---- modules ---- */

/* `format` is empty to go by the file's suffix. */
TESSERA_API(int, ModLoadFromFile, (const char* file_name, const char* format, TesseraModuleHandle* out),
            (file_name, format, out))
TESSERA_API(int, ModImport, (TesseraModuleHandle module, TesseraModuleHandle dependency), (module, dependency))
/* *out is NULL when there is no such function. */
TESSERA_API(int, ModGetFunction,
            (TesseraModuleHandle module, const char* name, int query_imports, TesseraFunctionHandle* out),
            (module, name, query_imports, out))
TESSERA_API(int, ModFree, (TesseraModuleHandle module), (module))

/* ---- tensors ---- */

TESSERA_API(int, ArrayAlloc,
            (const int64_t* shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes, int device_type,
             int device_id, TesseraArrayHandle* out),
            (shape, ndim, dtype_code, dtype_bits, dtype_lanes, device_type, device_id, out))
TESSERA_API(int, ArrayFree, (TesseraArrayHandle array), (array))
/* Whole contents, row-major; nbytes must be the tensor's size. */
TESSERA_API(int, ArrayCopyFromBytes, (TesseraArrayHandle array, void* data, size_t nbytes), (array, data, nbytes))
TESSERA_API(int, ArrayCopyToBytes, (TesseraArrayHandle array, void* data, size_t nbytes), (array, data, nbytes))
TESSERA_API(int, ArrayCopyFromTo, (TesseraArrayHandle from, TesseraArrayHandle to, TesseraStreamHandle stream),
            (from, to, stream))
/* Takes over `from`, also on failure; wants row-major data at a multiple of 64 bytes. */
TESSERA_API(int, ArrayFromDLPack, (DLManagedTensor * from, TesseraArrayHandle* out), (from, out))
TESSERA_API(int, ArrayToDLPack, (TesseraArrayHandle from, DLManagedTensor** out), (from, out))
TESSERA_API(void, DLManagedTensorCallDeleter, (DLManagedTensor * tensor), (tensor))

/* ---- objects ---- */

TESSERA_API(int, ObjectGetTypeIndex, (TesseraObjectHandle object, unsigned* out_index), (object, out_index))
TESSERA_API(int, ObjectTypeKey2Index, (const char* type_key, unsigned* out_index), (type_key, out_index))
/* The caller frees *out_type_key with free(). */
TESSERA_API(int, ObjectTypeIndex2Key, (unsigned index, char** out_type_key), (index, out_type_key))
TESSERA_API(int, ObjectDerivedFrom, (uint32_t child_index, uint32_t parent_index, int* is_derived),
            (child_index, parent_index, is_derived))
TESSERA_API(int, ObjectRetain, (TesseraObjectHandle object), (object))
TESSERA_API(int, ObjectFree, (TesseraObjectHandle object), (object))
/* For bytes that FuncCall returned. */
TESSERA_API(int, ByteArrayFree, (TesseraByteArray * bytes), (bytes))

/* ---- devices ---- */

TESSERA_API(int, StreamCreate, (int device_type, int device_id, TesseraStreamHandle* out),
            (device_type, device_id, out))
TESSERA_API(int, StreamFree, (int device_type, int device_id, TesseraStreamHandle stream),
            (device_type, device_id, stream))
TESSERA_API(int, SetStream, (int device_type, int device_id, TesseraStreamHandle stream),
            (device_type, device_id, stream))
TESSERA_API(int, Synchronize, (int device_type, int device_id, TesseraStreamHandle stream),
            (device_type, device_id, stream))
/* `dst` waits for what is in `src` now. */
TESSERA_API(int, StreamStreamSynchronize,
            (int device_type, int device_id, TesseraStreamHandle src, TesseraStreamHandle dst),
            (device_type, device_id, src, dst))
TESSERA_API(int, DeviceAllocDataSpace,
            (DLDevice device, size_t nbytes, size_t alignment, DLDataType type_hint, void** out_data),
            (device, nbytes, alignment, type_hint, out_data))
TESSERA_API(int, DeviceAllocDataSpaceWithScope,
            (DLDevice device, int ndim, const int64_t* shape, DLDataType dtype, const char* mem_scope, void** out_data),
            (device, ndim, shape, dtype, mem_scope, out_data))
TESSERA_API(int, DeviceFreeDataSpace, (DLDevice device, void* data), (device, data))
TESSERA_API(int, DeviceCopyDataFromTo, (DLTensor * from, DLTensor* to, TesseraStreamHandle stream), (from, to, stream))
