#pragma once
// Convolutions and softmax by cuDNN.

#include <vector>

#include "runtime/ndarray.h"

namespace tessera::cuda {

/// y = relu(convolution of x by w + residual + bias), over two or three dimensions. Channels come first, or last in x, w, y and the residual
/// alike. `bias` (an element for each channel) and `residual` (as y) may be null.
struct VendorConvolution {
  const DLTensor *x = nullptr, *w = nullptr, *bias = nullptr, *residual = nullptr;
  DLTensor* y = nullptr;
  bool is_channels_last = false;
  bool is_mirrored = false;  // a convolution as mathematics has it, not the cross-correlation of networks
  std::vector<int> padding, strides, dilation;
  int groups = 1;
  int algorithm = -1;  // cuDNN's number; -1: the fastest one measured, or cuDNN's guess
  bool is_relu = false;
  bool allows_tf32 = false;
  bool measures = false;
};

bool has_cudnn();
/// float64, float32, fp16 and bf16, one type for all tensors.
void vendor_convolution(const VendorConvolution& call);
/// The number of the algorithm that cuDNN measures as the fastest for tensors of these shapes.
int fastest_convolution(const VendorConvolution& call);
/// y = exp(x) over its sum along `axis`, or the logarithm of that.
void vendor_softmax(const DLTensor* x, DLTensor* y, int axis, bool is_log);

}  // namespace tessera::cuda
