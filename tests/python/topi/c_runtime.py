"""What compiled functions ask a runtime for, in a page of C: for programs that an emulator runs."""

C_RUNTIME = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef union { int64_t i; double f; void* p; } Value;
typedef struct { void* data; struct { int type, id; } device; int ndim; struct { uint8_t code, bits; uint16_t lanes; } dtype;
                 int64_t *shape, *strides; uint64_t offset; } Tensor;
typedef int (*Task)(int, void*, void*);
static void* take(int t, int i, uint64_t bytes, int c, int b) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }
static int give(int t, int i, void* p) { free(p); return 0; }
static int launch(Task task, void* data, int n) { struct { void* s; int n; } env = {0, 1}; return task(0, &env, data); }
static void error(const char* what) { puts(what); }
void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = take;
int (*__TVMBackendFreeWorkspace)(int, int, void*) = give;
int (*__TVMBackendParallelLaunch)(Task, void*, int) = launch;
void (*__TVMAPISetLastError)(const char*) = error;
"""
