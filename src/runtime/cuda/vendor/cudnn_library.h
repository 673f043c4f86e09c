#pragma once
// What we use of cudnn.h, found when it is first needed.

#include <cstddef>

#include "runtime/cuda/driver.h"

namespace tessera::cuda::dnn {

using DnnHandle = struct cudnnContext*;
using Tensor = struct cudnnTensorStruct;
using Filter = struct cudnnFilterStruct;
using Convolution = struct cudnnConvolutionStruct;
using Activation = struct cudnnActivationStruct;

struct AlgorithmTime {
  int algorithm, status;
  float milliseconds;
  size_t workspace_bytes;
  int is_deterministic, math;
  int reserved[3];
};

inline constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9;
inline constexpr int kChannelsFirst = 0, kChannelsLast = 1;
inline constexpr int kMirrored = 0, kCrossCorrelation = 1;
inline constexpr int kDefaultMath = 0, kMatrixUnits = 1, kFmaMath = 3;
inline constexpr int kRelu = 1, kIdentity = 5;
inline constexpr int kPrecomputedGemm = 1;  // the algorithm that adds a bias without an activation
inline constexpr int kSoftmaxAccurate = 1, kSoftmaxLog = 2, kSoftmaxOfChannels = 1;

// clang-format off
#define TESSERA_CUDNN_FUNCTIONS(X)                                                                         \
  X(cudnnCreate, (DnnHandle*))                                                                             \
  X(cudnnSetStream, (DnnHandle, CUstream))                                                                 \
  X(cudnnCreateTensorDescriptor, (Tensor**))                                                               \
  X(cudnnSetTensorNdDescriptorEx, (Tensor*, int, int, int, const int*))                                    \
  X(cudnnDestroyTensorDescriptor, (Tensor*))                                                               \
  X(cudnnCreateFilterDescriptor, (Filter**))                                                               \
  X(cudnnSetFilterNdDescriptor, (Filter*, int, int, int, const int*))                                      \
  X(cudnnDestroyFilterDescriptor, (Filter*))                                                               \
  X(cudnnCreateConvolutionDescriptor, (Convolution**))                                                     \
  X(cudnnSetConvolutionNdDescriptor, (Convolution*, int, const int*, const int*, const int*, int, int))    \
  X(cudnnSetConvolutionGroupCount, (Convolution*, int))                                                    \
  X(cudnnSetConvolutionMathType, (Convolution*, int))                                                      \
  X(cudnnDestroyConvolutionDescriptor, (Convolution*))                                                     \
  X(cudnnCreateActivationDescriptor, (Activation**))                                                       \
  X(cudnnSetActivationDescriptor, (Activation*, int, int, double))                                         \
  X(cudnnDestroyActivationDescriptor, (Activation*))                                                       \
  X(cudnnGetConvolutionForwardAlgorithm_v7, (DnnHandle, Tensor*, Filter*, Convolution*, Tensor*, int,      \
                                             int*, AlgorithmTime*))                                        \
  X(cudnnFindConvolutionForwardAlgorithm, (DnnHandle, Tensor*, Filter*, Convolution*, Tensor*, int,        \
                                           int*, AlgorithmTime*))                                          \
  X(cudnnGetConvolutionForwardWorkspaceSize, (DnnHandle, Tensor*, Filter*, Convolution*, Tensor*, int,     \
                                              size_t*))                                                    \
  X(cudnnConvolutionForward, (DnnHandle, const void*, Tensor*, const void*, Filter*, const void*,          \
                              Convolution*, int, void*, size_t, const void*, Tensor*, void*))              \
  X(cudnnConvolutionBiasActivationForward, (DnnHandle, const void*, Tensor*, const void*, Filter*,         \
                                            const void*, Convolution*, int, void*, size_t, const void*,    \
                                            Tensor*, const void*, Tensor*, const void*, Activation*,       \
                                            Tensor*, void*))                                               \
  X(cudnnSoftmaxForward, (DnnHandle, int, int, const void*, Tensor*, const void*, const void*, Tensor*,    \
                          void*))
// clang-format on

struct DnnLibrary {
#define TESSERA_DECLARE(NAME, PARAMETERS) int(*NAME) PARAMETERS = nullptr;
  TESSERA_CUDNN_FUNCTIONS(TESSERA_DECLARE)
#undef TESSERA_DECLARE
  const char* (*status_text)(int) = nullptr;
};

/// Null where the library is not there.
const DnnLibrary* find_cudnn();
/// The same, where absence is an error.
const DnnLibrary& cudnn();
/// Throws when `status` is no success; `what` says what was tried.
void check_dnn(int status, const char* what);

}  // namespace tessera::cuda::dnn
