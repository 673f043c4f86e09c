// The functions of cuBLASLt that src/runtime/cuda/vendor/cublaslt.cc uses: float32, column-major.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int compute, scale, trans_a, trans_b, epilogue;
  const float* bias;
} Matmul;
typedef struct {
  int type, batch;
  uint64_t rows, columns;
  int64_t ld, stride;
} Layout;
typedef struct {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} Found;

static FILE* log_file(void) {
  const char* name = getenv("FAKE_CUDA_LOG");
  return name ? fopen(name, "a") : NULL;
}

int cublasLtCreate(void** handle) { return *handle = malloc(1), 0; }
const char* cublasLtGetStatusString(int status) { return status == 14 ? "CUBLAS_STATUS_INTERNAL_ERROR" : "other"; }
int cublasLtMatmulDescCreate(Matmul** out, int compute, int scale) {
  *out = calloc(1, sizeof(Matmul));
  (*out)->compute = compute;
  (*out)->scale = scale;
  (*out)->epilogue = 1;
  return 0;
}
int cublasLtMatmulDescDestroy(Matmul* matmul) { return free(matmul), 0; }
int cublasLtMatmulDescSetAttribute(Matmul* matmul, int which, const void* value, size_t bytes) {
  if (which == 3) memcpy(&matmul->trans_a, value, bytes);
  else if (which == 4) memcpy(&matmul->trans_b, value, bytes);
  else if (which == 7) memcpy(&matmul->epilogue, value, bytes);
  else if (which == 8) memcpy(&matmul->bias, value, bytes);
  else return 7;
  return 0;
}
int cublasLtMatrixLayoutCreate(Layout** out, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  *out = calloc(1, sizeof(Layout));
  **out = (Layout){type, 1, rows, columns, ld, 0};
  return 0;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) { return free(layout), 0; }
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int which, const void* value, size_t bytes) {
  if (which == 5) memcpy(&layout->batch, value, bytes);
  else if (which == 6) memcpy(&layout->stride, value, bytes);
  else return 7;
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** out) { return *out = malloc(1), 0; }
int cublasLtMatmulPreferenceDestroy(void* preference) { return free(preference), 0; }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int which, const void* value, size_t bytes) { return 0; }
int cublasLtMatmulAlgoGetHeuristic(void* handle, Matmul* matmul, Layout* a, Layout* b, Layout* c, Layout* d,
                                   void* preference, int wanted, Found* out, int* count) {
  memset(out, 0, sizeof(Found) * 2);
  out[0].workspace = 1000;
  out[1].workspace = 2000;
  return *count = 2, 0;
}

static float element(const float* data, const Layout* layout, int batch, int is_transposed, uint64_t i, uint64_t j) {
  const uint64_t row = is_transposed ? j : i, column = is_transposed ? i : j;
  return data[layout->stride * batch + (int64_t)column * layout->ld + (int64_t)row];
}

int cublasLtMatmul(void* handle, Matmul* matmul, const void* alpha, const float* a, Layout* left, const float* b,
                   Layout* right, const void* beta, const float* c, Layout* before, float* d, Layout* out,
                   const uint64_t* algorithm, void* workspace, size_t workspace_bytes, void* stream) {
  const char* failing = getenv("FAKE_CUDA_FAIL");
  if (failing && strcmp(failing, "matmul") == 0) return 14;
  const uint64_t depth = matmul->trans_a ? left->rows : left->columns;
  FILE* file = log_file();
  if (file) {
    fprintf(file, "matmul m=%d n=%d k=%d batch=%d compute=%d epilogue=%d workspace=%d %s\n", (int)out->rows,
            (int)out->columns, (int)depth, out->batch, matmul->compute, matmul->epilogue, (int)workspace_bytes,
            workspace ? "given" : "missing");
    fclose(file);
  }
  if (out->type != 0) return 0;  // not float32
  for (int batch = 0; batch < out->batch; ++batch)
    for (uint64_t j = 0; j < out->columns; ++j)
      for (uint64_t i = 0; i < out->rows; ++i) {
        float sum = 0;
        for (uint64_t k = 0; k < depth; ++k)
          sum += element(a, left, batch, matmul->trans_a, i, k) * element(b, right, batch, matmul->trans_b, k, j);
        if (matmul->epilogue & 4) sum += matmul->bias[i];
        if (matmul->epilogue & 2) sum = sum > 0 ? sum : 0;
        d[out->stride * batch + (int64_t)j * out->ld + (int64_t)i] = sum;
      }
  return 0;
}
