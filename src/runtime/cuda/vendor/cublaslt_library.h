#pragma once
// What we use of cublasLt.h, found when it is first needed.

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver.h"

namespace tessera::cuda::lt {

using Handle = struct cublasLtContext*;
using MatmulDesc = struct cublasLtMatmulDescOpaque;
using MatrixLayout = struct cublasLtMatrixLayoutOpaque;
using Preference = struct cublasLtMatmulPreferenceOpaque;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

inline constexpr int kCompute32f = 68, kCompute32fTf32 = 77, kCompute64f = 70, kCompute32i = 72;
inline constexpr int kR32f = 0, kR64f = 1, kR16f = 2, kR8i = 3, kR32i = 10, kR16bf = 14;
inline constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBiasPointer = 8;
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
inline constexpr int kPrefWorkspaceBytes = 1, kPrefAlignmentA = 5;  // B, C and D follow
inline constexpr int kEpilogueDefault = 1, kEpilogueRelu = 2, kEpilogueBias = 4, kEpilogueGelu = 32;
inline constexpr int kTransposed = 1;

// clang-format off
#define TESSERA_CUBLASLT_FUNCTIONS(X)                                                                      \
  X(cublasLtCreate, (Handle*))                                                                             \
  X(cublasLtMatmulDescCreate, (MatmulDesc**, int, int))                                                    \
  X(cublasLtMatmulDescDestroy, (MatmulDesc*))                                                              \
  X(cublasLtMatmulDescSetAttribute, (MatmulDesc*, int, const void*, size_t))                               \
  X(cublasLtMatrixLayoutCreate, (MatrixLayout**, int, uint64_t, uint64_t, int64_t))                        \
  X(cublasLtMatrixLayoutDestroy, (MatrixLayout*))                                                          \
  X(cublasLtMatrixLayoutSetAttribute, (MatrixLayout*, int, const void*, size_t))                           \
  X(cublasLtMatmulPreferenceCreate, (Preference**))                                                        \
  X(cublasLtMatmulPreferenceDestroy, (Preference*))                                                        \
  X(cublasLtMatmulPreferenceSetAttribute, (Preference*, int, const void*, size_t))                         \
  X(cublasLtMatmulAlgoGetHeuristic, (Handle, MatmulDesc*, MatrixLayout*, MatrixLayout*, MatrixLayout*,     \
                                     MatrixLayout*, Preference*, int, HeuristicResult*, int*))             \
  X(cublasLtMatmul, (Handle, MatmulDesc*, const void*, const void*, MatrixLayout*, const void*,            \
                     MatrixLayout*, const void*, const void*, MatrixLayout*, void*, MatrixLayout*,         \
                     const Algorithm*, void*, size_t, CUstream))
// clang-format on

struct Library {
#define TESSERA_DECLARE(NAME, PARAMETERS) int(*NAME) PARAMETERS = nullptr;
  TESSERA_CUBLASLT_FUNCTIONS(TESSERA_DECLARE)
#undef TESSERA_DECLARE
  const char* (*status_text)(int) = nullptr;
};

/// The library; an error where it is not there.
const Library& library();
/// Throws when `status` is no success; `what` says what was tried.
void succeed(int status, const char* what);

}  // namespace tessera::cuda::lt
