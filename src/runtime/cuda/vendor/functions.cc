// Packed functions by kernels of libraries: what rows of the kernel table call, and v0.10's names.

#include <array>

#include "runtime/containers.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/vendor/cublaslt.h"
#include "runtime/cuda/vendor/cudnn.h"
#include "runtime/registry.h"

namespace tessera::cuda {
namespace {

DLTensor* tensor_at(const Args& args, int i) {
  auto* out = args[i].to<DLTensor*>();
  if (!out) throw Error(TypeError) << "argument " << i << " has to be a tensor";
  return out;
}

/// Tensors that a row hands over. Code of the host knows bfloat16 by its bits, as uint16.
class RowTensors {
 public:
  explicit RowTensors(const Args& args) : args_(args) {}
  DLTensor* operator()(int i) {
    DLTensor* given = tensor_at(args_, i);
    if (DataType(given->dtype) != DataType::UInt(16)) return given;
    DLTensor& out = copies_[static_cast<size_t>(count_++)];
    out = *given;
    out.dtype = DLDataType{kDLBfloat, 16, 1};
    return &out;
  }

 private:
  const Args& args_;
  std::array<DLTensor, 5> copies_{};
  int count_ = 0;
};

/// (a, b[, bias], out, transpose a, transpose b, activation, TF32 is allowed, algorithms are measured)
void matmul_of_row(const Args& args, Any*) {
  constexpr int kPlain = 8;
  const bool has_bias = args.size() == kPlain + 1;
  if (!has_bias && args.size() != kPlain)
    throw Error(TypeError) << "tessera.cublaslt.matmul takes 8 arguments, or 9 with a bias, not " << args.size();
  const int at = has_bias ? 3 : 2;
  RowTensors tensor(args);
  vendor_matmul({.a = tensor(0),
                 .b = tensor(1),
                 .bias = has_bias ? tensor(2) : nullptr,
                 .out = tensor(at),
                 .trans_a = args[at + 1].to<bool>(),
                 .trans_b = args[at + 2].to<bool>(),
                 .activation = static_cast<MatmulActivation>(args[at + 3].to<int>()),
                 .allows_tf32 = args[at + 4].to<bool>(),
                 .measures = args[at + 5].to<bool>()});
}

/// (x, w[, bias[, residual]], y, channels last, groups, relu, TF32 is allowed, algorithms are measured, then padding, strides and dilation of
/// each spatial axis)
void convolution_of_row(const Args& args, Any*) {
  int tensors = 0;
  while (tensors < args.size() && (args[tensors].code() == kTesseraDLTensor || args[tensors].code() == kTesseraNDArray))
    ++tensors;
  constexpr int kFlags = 5;
  const int spatial = (args.size() - tensors - kFlags) / 3;
  if (tensors < 3 || tensors > 5 || spatial < 1 || tensors + kFlags + 3 * spatial != args.size())
    throw Error(TypeError) << "tessera.cudnn.convolution takes 3 to 5 tensors, 5 flags, and numbers for each spatial "
                              "axis; it was called with "
                           << args.size() << " arguments";
  RowTensors tensor(args);
  VendorConvolution call;
  call.x = tensor(0);
  call.w = tensor(1);
  if (tensors > 3) call.bias = tensor(2);
  if (tensors > 4) call.residual = tensor(3);
  call.y = tensor(tensors - 1);
  call.is_channels_last = args[tensors].to<bool>();
  call.groups = args[tensors + 1].to<int>();
  call.is_relu = args[tensors + 2].to<bool>();
  call.allows_tf32 = args[tensors + 3].to<bool>();
  call.measures = args[tensors + 4].to<bool>();
  int next = tensors + kFlags;
  for (std::vector<int>* numbers : {&call.padding, &call.strides, &call.dilation})
    for (int i = 0; i < spatial; ++i) numbers->push_back(args[next++].to<int>());
  vendor_convolution(call);
}

// ---- v0.10's -----------------------------------------------------------------------------------------------------------

/// (a, b, out, transpose a, transpose b, ...); scales after these are 1 and 0.
void matmul_by_name(const Args& args, Any*) {
  if (args.size() < 5) throw Error(TypeError) << "a matmul takes (a, b, out, transa, transb), not " << args.size();
  vendor_matmul({.a = tensor_at(args, 0),
                 .b = tensor_at(args, 1),
                 .out = tensor_at(args, 2),
                 .trans_a = args[3].to<bool>(),
                 .trans_b = args[4].to<bool>()});
}

/// The arguments before the tensors: mode, format, algorithm, and padding, strides and dilation of `spatial` axes.
VendorConvolution convolution_numbers(const Args& args, int spatial) {
  VendorConvolution out;
  out.is_mirrored = args[0].to<int>() == 0;
  out.is_channels_last = args[1].to<int>() == 1;
  out.algorithm = args[2].to<int>();
  out.measures = true;
  int next = 3;
  for (std::vector<int>* numbers : {&out.padding, &out.strides, &out.dilation})
    for (int i = 0; i < spatial; ++i) numbers->push_back(args[next++].to<int>());
  return out;
}

/// (numbers, x, w, y, type of the sums, groups)
template <int spatial>
void convolution_by_name(const Args& args, Any*) {
  constexpr int kFirst = 3 + 3 * spatial;
  if (args.size() != kFirst + 5)
    throw Error(TypeError) << "conv" << spatial << "d.forward takes " << kFirst + 5 << " arguments, not "
                           << args.size();
  VendorConvolution call = convolution_numbers(args, spatial);
  call.x = tensor_at(args, kFirst);
  call.w = tensor_at(args, kFirst + 1);
  call.y = tensor_at(args, kFirst + 2);
  call.groups = args[kFirst + 4].to<int>();
  vendor_convolution(call);
}

/// (numbers, activation, its coefficient, x, w, bias, y, type of the sums, groups)
void biased_convolution_by_name(const Args& args, Any*) {
  constexpr int kFirst = 9, kRelu = 1, kIdentity = 5;
  if (args.size() != kFirst + 8)
    throw Error(TypeError) << "conv2d+bias+act.forward takes " << kFirst + 8 << " arguments, not " << args.size();
  VendorConvolution call = convolution_numbers(args, 2);
  const int activation = args[kFirst].to<int>();
  if (activation != kRelu && activation != kIdentity)
    throw Error(NotImplementedError) << "conv2d+bias+act.forward: activations are 1 (relu) and 5 (none), not "
                                     << activation;
  call.is_relu = activation == kRelu;
  call.x = tensor_at(args, kFirst + 2);
  call.w = tensor_at(args, kFirst + 3);
  call.bias = tensor_at(args, kFirst + 4);
  call.y = tensor_at(args, kFirst + 5);
  call.groups = args[kFirst + 7].to<int>();
  vendor_convolution(call);
}

/// The fastest algorithm for tensors of these shapes, which are made for the purpose on the first device.
int find_algorithm(int format, int, const ShapeTuple& padding, const ShapeTuple& strides, const ShapeTuple& dilation,
                   const ShapeTuple& x, const ShapeTuple& w, const ShapeTuple& y, const std::string& dtype,
                   const std::string&, int groups) {
  auto numbers = [](const ShapeTuple& shape) { return std::vector<int>(shape->values.begin(), shape->values.end()); };
  auto empty = [&](const ShapeTuple& shape) {
    return NDArray::empty(shape->values, DataType(std::string_view(dtype)), make_device(kDLCUDA, 0));
  };
  NDArray data = empty(x), weight = empty(w), result = empty(y);
  VendorConvolution call;
  call.x = data.tensor();
  call.w = weight.tensor();
  call.y = result.tensor();
  call.is_channels_last = format == 1;
  call.padding = numbers(padding);
  call.strides = numbers(strides);
  call.dilation = numbers(dilation);
  call.groups = groups;
  return fastest_convolution(call);
}

template <bool is_log>
void softmax_by_name(DLTensor* x, DLTensor* y, int axis) {
  vendor_softmax(x, y, axis, is_log);
}

Globals functions_globals{
    {"tessera.cublaslt.matmul", PackedFunc(matmul_of_row)},
    {"tessera.cudnn.convolution", PackedFunc(convolution_of_row)},
    {"tvm.contrib.cublas.matmul", PackedFunc(matmul_by_name)},
    {"tvm.contrib.cublas.batch_matmul", PackedFunc(matmul_by_name)},
    {"tvm.contrib.cublaslt.matmul", PackedFunc(matmul_by_name)},
    {"tvm.contrib.cudnn.exists", [] { return find_driver() && has_cudnn(); }},
    {"tvm.contrib.cudnn.conv2d.forward", PackedFunc(convolution_by_name<2>)},
    {"tvm.contrib.cudnn.conv3d.forward", PackedFunc(convolution_by_name<3>)},
    {"tvm.contrib.cudnn.conv2d+bias+act.forward", PackedFunc(biased_convolution_by_name)},
    {"tvm.contrib.cudnn.conv.forward_find_algo", find_algorithm},
    {"tvm.contrib.cudnn.softmax.forward", softmax_by_name<false>},
    {"tvm.contrib.cudnn.log_softmax.forward", softmax_by_name<true>},
};

}  // namespace
}  // namespace tessera::cuda
