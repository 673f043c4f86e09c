/* What compiled code calls, one row each as in c_api_functions.h. Compiled code and libraries made by TVM v0.10 know
 * the rows as TVMBackend<name>; the runtime itself also has them as TesseraBackend<name>. */

/* The function `func_name` as the module `mod_node` sees it: in its imports, else global. Belongs to the module. */
TESSERA_API(int, GetFuncFromEnv, (void* mod_node, const char* func_name, TesseraFunctionHandle* out),
            (mod_node, func_name, out))
/* A symbol of linked-in code, for the module runtime.SystemLib. */
TESSERA_API(int, RegisterSystemLibSymbol, (const char* name, void* address), (name, address))
/* Offers a C function of the language that hosts the runtime. This runtime needs none, and says so by failing. */
TESSERA_API(int, RegisterEnvCAPI, (const char* name, void* address), (name, address))
/* Scratch memory at a multiple of 64 bytes, or NULL with the last error set; freed in reverse order. */
TESSERA_API(void*, AllocWorkspace,
            (int device_type, int device_id, uint64_t nbytes, int dtype_code_hint, int dtype_bits_hint),
            (device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint))
TESSERA_API(int, FreeWorkspace, (int device_type, int device_id, void* data), (device_type, device_id, data))
/* Calls `task` with task ids 0 to n-1, on several threads. n is num_task; for 0 the number of threads there are; for a
 * negative one what seems good for -num_task pieces of work, at most as many, and the tasks must not wait for one
 * another. The task finds n in env->num_task. Inside another parallel region everything runs on the calling thread. */
TESSERA_API(int, ParallelLaunch, (TesseraParallelTask task, void* cdata, int num_task), (task, cdata, num_task))
/* Waits for the other tasks of the region. */
TESSERA_API(int, ParallelBarrier, (int task_id, TesseraParallelGroupEnv* env), (task_id, env))
/* Calls f(cdata) the first time it sees *handle, which starts as NULL. */
TESSERA_API(int, RunOnce, (void** handle, int (*f)(void*), void* cdata, int nbytes), (handle, f, cdata, nbytes))
