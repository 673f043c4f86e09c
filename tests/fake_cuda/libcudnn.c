// The functions of cuDNN that src/runtime/cuda/vendor/cudnn.cc uses: float32, two spatial dimensions.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int format, type, extents[5];
} Tensor;
typedef struct {
  int padding[3], strides[3], dilation[3], mode, groups, math;
} Convolution;
typedef struct {
  int algorithm, status;
  float time;
  size_t workspace;
  int deterministic, math, reserved[3];
} Found;
enum { kChannelsLast = 1, kRelu = 1 };

int cudnnCreate(void** handle) { return *handle = malloc(1), 0; }
const char* cudnnGetErrorString(int status) { return "CUDNN_STATUS_BAD_PARAM"; }
int cudnnSetStream(void* handle, void* stream) { return 0; }
int cudnnCreateTensorDescriptor(Tensor** out) { return *out = calloc(1, sizeof(Tensor)), 0; }
int cudnnSetTensorNdDescriptorEx(Tensor* out, int format, int type, int rank, const int* extents) {
  out->format = format;
  out->type = type;
  return memcpy(out->extents, extents, sizeof(int) * (size_t)rank), 0;
}
int cudnnDestroyTensorDescriptor(Tensor* tensor) { return free(tensor), 0; }
int cudnnCreateFilterDescriptor(Tensor** out) { return cudnnCreateTensorDescriptor(out); }
int cudnnSetFilterNdDescriptor(Tensor* out, int type, int format, int rank, const int* extents) {
  return cudnnSetTensorNdDescriptorEx(out, format, type, rank, extents);
}
int cudnnDestroyFilterDescriptor(Tensor* filter) { return free(filter), 0; }
int cudnnCreateConvolutionDescriptor(Convolution** out) { return *out = calloc(1, sizeof(Convolution)), 0; }
int cudnnSetConvolutionNdDescriptor(Convolution* out, int spatial, const int* padding, const int* strides,
                                    const int* dilation, int mode, int type) {
  memcpy(out->padding, padding, sizeof(int) * (size_t)spatial);
  memcpy(out->strides, strides, sizeof(int) * (size_t)spatial);
  memcpy(out->dilation, dilation, sizeof(int) * (size_t)spatial);
  return out->mode = mode, 0;
}
int cudnnSetConvolutionGroupCount(Convolution* out, int groups) { return out->groups = groups, 0; }
int cudnnSetConvolutionMathType(Convolution* out, int math) { return out->math = math, 0; }
int cudnnDestroyConvolutionDescriptor(Convolution* convolution) { return free(convolution), 0; }
int cudnnCreateActivationDescriptor(int** out) { return *out = calloc(1, sizeof(int)), 0; }
int cudnnSetActivationDescriptor(int* out, int mode, int nan, double coefficient) { return *out = mode, 0; }
int cudnnDestroyActivationDescriptor(int* activation) { return free(activation), 0; }
int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, Tensor* x, Tensor* w, Convolution* convolution, Tensor* y,
                                           int wanted, int* count, Found* out) {
  memset(out, 0, sizeof(Found) * 2);
  out[0].algorithm = 6;  // one that multiplies float32 by matrix units
  out[0].math = 1;
  out[1].algorithm = 1;
  out[1].math = convolution->math;
  return *count = 2, 0;
}
int cudnnFindConvolutionForwardAlgorithm(void* handle, Tensor* x, Tensor* w, Convolution* convolution, Tensor* y,
                                         int wanted, int* count, Found* out) {
  cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, convolution, y, wanted, count, out);
  return out[1].algorithm = 7, 0;
}
int cudnnGetConvolutionForwardWorkspaceSize(void* handle, Tensor* x, Tensor* w, Convolution* convolution, Tensor* y,
                                            int algorithm, size_t* bytes) {
  return *bytes = 1000, 0;
}

static float* at(const Tensor* tensor, const void* data, int n, int c, int h, int w) {
  const int* e = tensor->extents;
  const int offset =
      tensor->format == kChannelsLast ? ((n * e[2] + h) * e[3] + w) * e[1] + c : ((n * e[1] + c) * e[2] + h) * e[3] + w;
  return (float*)data + offset;
}

static void convolve(const Tensor* x, const void* data, const Tensor* w, const void* weight, const Convolution* conv,
                     const void* residual, const void* bias, int is_relu, const Tensor* y, void* out) {
  const int *xs = x->extents, *ws = w->extents, *ys = y->extents;
  const int outs = ws[0] / conv->groups;
  for (int n = 0; n < ys[0]; ++n)
    for (int o = 0; o < ys[1]; ++o)
      for (int i = 0; i < ys[2]; ++i)
        for (int j = 0; j < ys[3]; ++j) {
          float sum = 0;
          for (int c = 0; c < ws[1]; ++c)
            for (int p = 0; p < ws[2]; ++p)
              for (int q = 0; q < ws[3]; ++q) {
                const int h = i * conv->strides[0] + p * conv->dilation[0] - conv->padding[0];
                const int v = j * conv->strides[1] + q * conv->dilation[1] - conv->padding[1];
                if (h < 0 || h >= xs[2] || v < 0 || v >= xs[3]) continue;
                sum += *at(x, data, n, o / outs * ws[1] + c, h, v) * *at(w, weight, o, c, p, q);
              }
          if (residual) sum += *at(y, residual, n, o, i, j);
          if (bias) sum += ((const float*)bias)[o];
          *at(y, out, n, o, i, j) = is_relu && sum < 0 ? 0 : sum;
        }
}

static void note(const char* what, int algorithm, const Convolution* conv, const void* workspace) {
  const char* name = getenv("FAKE_CUDA_LOG");
  FILE* file = name ? fopen(name, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s algorithm=%d math=%d groups=%d %s\n", what, algorithm, conv->math, conv->groups,
          workspace ? "given" : "missing");
  fclose(file);
}

int cudnnConvolutionForward(void* handle, const void* alpha, Tensor* x, const void* data, Tensor* w, const void* weight,
                            Convolution* conv, int algorithm, void* workspace, size_t bytes, const void* beta,
                            Tensor* y, void* out) {
  note("convolution", algorithm, conv, workspace);
  if (y->type == 0) convolve(x, data, w, weight, conv, NULL, NULL, 0, y, out);
  return 0;
}
int cudnnConvolutionBiasActivationForward(void* handle, const float* alpha, Tensor* x, const void* data, Tensor* w,
                                          const void* weight, Convolution* conv, int algorithm, void* workspace,
                                          size_t bytes, const float* beta, Tensor* z, const void* residual, Tensor* b,
                                          const void* bias, int* activation, Tensor* y, void* out) {
  note(*beta != 0 ? "convolution+residual+bias" : "convolution+bias", algorithm, conv, workspace);
  if (y->type == 0)
    convolve(x, data, w, weight, conv, *beta != 0 ? residual : NULL, bias, *activation == kRelu, y, out);
  return 0;
}
int cudnnSoftmaxForward(void* handle, int algorithm, int mode, const void* alpha, Tensor* x, const void* data,
                        const void* beta, Tensor* y, void* out) {
  return 0;
}
