/* What compiled code needs of the runtime. Its names are those of TVM v0.10, because compiled libraries carry them. */
#ifndef TESSERA_C_BACKEND_API_H_
#define TESSERA_C_BACKEND_API_H_

#include <tessera/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a task knows of its parallel region. */
typedef struct {
  void* sync_handle; /* the runtime's own */
  int32_t num_task;
} TesseraParallelGroupEnv;

/* One task of a parallel region; 0, or -1 with the last error set. */
typedef int (*TesseraParallelTask)(int task_id, TesseraParallelGroupEnv* env, void* cdata);

#define TESSERA_API(result, name, parameters, arguments) \
  TESSERA_DLL result TesseraBackend##name parameters;    \
  TESSERA_DLL result TVMBackend##name parameters;
#include <tessera/c_backend_functions.h>
#undef TESSERA_API

#ifdef __cplusplus
}
#endif
#endif
