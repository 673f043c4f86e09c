#include "runtime/cuda/vendor/cudnn.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/cuda/vendor/cudnn_library.h"
#include "runtime/cuda/vendor/session.h"

namespace tessera::cuda {

using namespace dnn;

namespace {

DnnHandle dnn_handle(const VendorSession& session) {
  static auto* handles = new std::map<int, DnnHandle>;
  DnnHandle& out = (*handles)[session.device().device_id];
  if (!out) check_dnn(cudnn().cudnnCreate(&out), "starting");
  check_dnn(cudnn().cudnnSetStream(out, session.stream()), "taking a stream");
  return out;
}

/// cuDNN's handles serve one thread at a time.
std::mutex& dnn_mutex() {
  static std::mutex mutex;
  return mutex;
}

// ---- descriptors -----------------------------------------------------------------------------------------------------

int dnn_code(DataType dtype) {
  const std::string name = to_text(dtype);
  if (name == "float32") return kFloat;
  if (name == "float64") return kDouble;
  if (name == "float16") return kHalf;
  if (name == "bfloat16") return kBfloat16;
  throw Error(TypeError) << "cuDNN computes with float64, float32, float16 and bfloat16 here, not with " << name;
}

/// Extents in cuDNN's order, channels first.
std::vector<int> extents_of(const DLTensor* tensor, bool is_channels_last) {
  std::vector<int> out;
  for (int i = 0; i < tensor->ndim; ++i) out.push_back(static_cast<int>(tensor->shape[i]));
  if (is_channels_last) std::rotate(out.begin() + 1, out.end() - 1, out.end());
  return out;
}

std::shared_ptr<Tensor> tensor_of(int format, int dtype, const std::vector<int>& extents) {
  Tensor* made = nullptr;
  check_dnn(cudnn().cudnnCreateTensorDescriptor(&made), "describing a tensor");
  auto out = vendor_object(made, cudnn().cudnnDestroyTensorDescriptor);
  check_dnn(cudnn().cudnnSetTensorNdDescriptorEx(made, format, dtype, static_cast<int>(extents.size()), extents.data()),
            "describing a tensor");
  return out;
}

// ---- convolutions ----------------------------------------------------------------------------------------------------

struct ConvolutionPlan {
  std::shared_ptr<Tensor> x, y, bias;
  std::shared_ptr<Filter> w;
  std::shared_ptr<Convolution> convolution;
  std::shared_ptr<Activation> activation;
  int algorithm = 0;
  size_t workspace_bytes = 0;
};

constexpr size_t kMaxConvolutionBytes = size_t{512} << 20;

bool has_epilogue(const VendorConvolution& call) { return call.bias || call.is_relu || call.residual; }

void check_call(const VendorConvolution& call) {
  const int rank = call.x->ndim;
  const size_t spatial = static_cast<size_t>(std::max(rank - 2, 0));
  if ((rank != 4 && rank != 5) || call.w->ndim != rank || call.y->ndim != rank || call.padding.size() != spatial ||
      call.strides.size() != spatial || call.dilation.size() != spatial)
    throw Error(ValueError) << "cuDNN: a convolution of " << describe(call.x) << " by " << describe(call.w) << " to "
                            << describe(call.y) << " has not two or three spatial dimensions";
  const std::vector<int> x = extents_of(call.x, call.is_channels_last), w = extents_of(call.w, call.is_channels_last),
                         y = extents_of(call.y, call.is_channels_last);
  bool fits = call.groups > 0 && x[1] == w[1] * call.groups && y[1] == w[0] && y[0] == x[0] && w[0] % call.groups == 0;
  for (size_t i = 0; i < spatial && fits; ++i)
    fits = call.strides[i] > 0 && call.dilation[i] > 0 &&
           y[i + 2] == (x[i + 2] + 2 * call.padding[i] - (w[i + 2] - 1) * call.dilation[i] - 1) / call.strides[i] + 1;
  if (!fits)
    throw Error(ValueError) << "cuDNN: the convolution of " << describe(call.x) << " by " << describe(call.w) << " in "
                            << call.groups << " groups is not " << describe(call.y);
  if (has_epilogue(call) && !call.bias)
    throw Error(ValueError) << "cuDNN adds a residual and applies an activation only after a bias";
}

/// What multiplies: float32 in float32, unless TF32 is allowed.
int math_of(const VendorConvolution& call) {
  const int code = dnn_code(DataType(call.x->dtype));
  if (code == kHalf || code == kBfloat16) return kMatrixUnits;
  return code == kFloat && !call.allows_tf32 ? kFmaMath : kDefaultMath;
}

ConvolutionPlan describe_convolution(const VendorConvolution& call) {
  const DnnLibrary& dnn = cudnn();
  const int format = call.is_channels_last ? kChannelsLast : kChannelsFirst, dtype = dnn_code(DataType(call.x->dtype));
  const int compute = dtype == kDouble ? kDouble : kFloat;
  ConvolutionPlan plan;
  plan.x = tensor_of(format, dtype, extents_of(call.x, call.is_channels_last));
  plan.y = tensor_of(format, dnn_code(DataType(call.y->dtype)), extents_of(call.y, call.is_channels_last));

  Filter* filter = nullptr;
  check_dnn(dnn.cudnnCreateFilterDescriptor(&filter), "describing a weight");
  plan.w = vendor_object(filter, dnn.cudnnDestroyFilterDescriptor);
  const std::vector<int> weight = extents_of(call.w, call.is_channels_last);
  check_dnn(dnn.cudnnSetFilterNdDescriptor(filter, dtype, format, static_cast<int>(weight.size()), weight.data()),
            "describing a weight");

  Convolution* convolution = nullptr;
  check_dnn(dnn.cudnnCreateConvolutionDescriptor(&convolution), "describing a convolution");
  plan.convolution = vendor_object(convolution, dnn.cudnnDestroyConvolutionDescriptor);
  check_dnn(dnn.cudnnSetConvolutionNdDescriptor(convolution, static_cast<int>(call.padding.size()), call.padding.data(),
                                                call.strides.data(), call.dilation.data(),
                                                call.is_mirrored ? kMirrored : kCrossCorrelation, compute),
            "describing a convolution");
  check_dnn(dnn.cudnnSetConvolutionGroupCount(convolution, call.groups), "describing groups");
  check_dnn(dnn.cudnnSetConvolutionMathType(convolution, math_of(call)), "describing a convolution");

  if (has_epilogue(call)) {
    std::vector<int> extents(static_cast<size_t>(call.x->ndim), 1);
    extents[1] = weight[0];
    plan.bias = tensor_of(format, dtype, extents);
    Activation* activation = nullptr;
    check_dnn(dnn.cudnnCreateActivationDescriptor(&activation), "describing an activation");
    plan.activation = vendor_object(activation, dnn.cudnnDestroyActivationDescriptor);
    check_dnn(dnn.cudnnSetActivationDescriptor(activation, call.is_relu ? kRelu : kIdentity, 0, 0),
              "describing an activation");
  }
  return plan;
}

/// Algorithms by cuDNN's guess or by what it measures, the best first.
std::vector<AlgorithmTime> algorithms_of(const ConvolutionPlan& plan, DnnHandle handle, bool measures, int math) {
  std::array<AlgorithmTime, 16> found{};
  int count = 0;
  auto* ask = measures ? cudnn().cudnnFindConvolutionForwardAlgorithm : cudnn().cudnnGetConvolutionForwardAlgorithm_v7;
  check_dnn(ask(handle, plan.x.get(), plan.w.get(), plan.convolution.get(), plan.y.get(),
                static_cast<int>(found.size()), &count, found.data()),
            "choosing an algorithm");
  std::vector<AlgorithmTime> out(found.begin(), found.begin() + count);
  std::erase_if(out, [&](const AlgorithmTime& each) {
    return each.status != 0 || each.workspace_bytes > kMaxConvolutionBytes || (math == kFmaMath && each.math != math);
  });
  return out;
}

void choose_algorithm(ConvolutionPlan* plan, const VendorConvolution& call, DnnHandle handle, bool measures) {
  const DnnLibrary& dnn = cudnn();
  plan->algorithm = call.algorithm;
  if (call.algorithm < 0 && call.bias && !call.is_relu) plan->algorithm = kPrecomputedGemm;
  if (plan->algorithm < 0) {
    const std::vector<AlgorithmTime> found = algorithms_of(*plan, handle, measures, math_of(call));
    if (found.empty())
      throw Error(NotImplementedError) << "cuDNN has no algorithm for the convolution of " << describe(call.x) << " by "
                                       << describe(call.w);
    plan->algorithm = found[0].algorithm;
    check_dnn(dnn.cudnnSetConvolutionMathType(plan->convolution.get(), found[0].math), "describing a convolution");
  }
  check_dnn(dnn.cudnnGetConvolutionForwardWorkspaceSize(handle, plan->x.get(), plan->w.get(), plan->convolution.get(),
                                                        plan->y.get(), plan->algorithm, &plan->workspace_bytes),
            "asking for the size of a workspace");
}

std::vector<int64_t> key_of(const VendorConvolution& call) {
  std::vector<int64_t> key{call.y->device.device_id,
                           call.is_channels_last,
                           call.is_mirrored,
                           call.groups,
                           call.algorithm,
                           call.is_relu,
                           call.allows_tf32,
                           call.bias != nullptr,
                           call.residual != nullptr,
                           call.x->ndim,
                           call.measures,
                           dnn_code(DataType(call.x->dtype)),
                           dnn_code(DataType(call.y->dtype))};
  for (const DLTensor* tensor : {call.x, call.w, static_cast<const DLTensor*>(call.y)})
    key.insert(key.end(), tensor->shape, tensor->shape + tensor->ndim);
  for (const std::vector<int>* numbers : {&call.padding, &call.strides, &call.dilation})
    key.insert(key.end(), numbers->begin(), numbers->end());
  return key;
}

}  // namespace

bool has_cudnn() { return find_cudnn(); }

void vendor_convolution(const VendorConvolution& call) {
  check_call(call);
  const DnnLibrary& dnn = cudnn();
  const VendorSession session("cuDNN", {call.x, call.w, call.bias, call.residual, call.y});
  std::lock_guard lock(dnn_mutex());
  const DnnHandle handle = dnn_handle(session);
  static auto* plans = new std::map<std::vector<int64_t>, ConvolutionPlan>;
  auto at = plans->find(key_of(call));
  if (at == plans->end()) {
    ConvolutionPlan made = describe_convolution(call);
    choose_algorithm(&made, call, handle, call.measures && !session.is_recording());
    at = plans->emplace(key_of(call), std::move(made)).first;
  }
  const ConvolutionPlan& plan = at->second;
  VendorWorkspace workspace(session.device(), plan.workspace_bytes);
  const bool is_double = dnn_code(DataType(call.x->dtype)) == kDouble;
  const double one_double = 1, zero_double = 0;
  const float one_float = 1, zero_float = 0;
  const void* one = is_double ? static_cast<const void*>(&one_double) : &one_float;
  const void* zero = is_double ? static_cast<const void*>(&zero_double) : &zero_float;
  if (!has_epilogue(call))
    return check_dnn(
        dnn.cudnnConvolutionForward(handle, one, plan.x.get(), data_of(call.x), plan.w.get(), data_of(call.w),
                                    plan.convolution.get(), plan.algorithm, workspace.data(), plan.workspace_bytes,
                                    zero, plan.y.get(), data_of(call.y)),
        "a convolution");
  const void* residual = call.residual ? data_of(call.residual) : data_of(call.y);
  check_dnn(dnn.cudnnConvolutionBiasActivationForward(
                handle, one, plan.x.get(), data_of(call.x), plan.w.get(), data_of(call.w), plan.convolution.get(),
                plan.algorithm, workspace.data(), plan.workspace_bytes, call.residual ? one : zero, plan.y.get(),
                residual, plan.bias.get(), data_of(call.bias), plan.activation.get(), plan.y.get(), data_of(call.y)),
            "a convolution with its epilogue");
}

int fastest_convolution(const VendorConvolution& call) {
  check_call(call);
  cudnn();
  const VendorSession session("cuDNN", {call.x, call.w, call.y});
  std::lock_guard lock(dnn_mutex());
  const ConvolutionPlan plan = describe_convolution(call);
  const std::vector<AlgorithmTime> found = algorithms_of(plan, dnn_handle(session), true, math_of(call));
  if (found.empty()) throw Error(NotImplementedError) << "cuDNN has no algorithm for " << describe(call.x);
  return found[0].algorithm;
}

void vendor_softmax(const DLTensor* x, DLTensor* y, int axis, bool is_log) {
  if (axis < 0) axis += x->ndim;
  if (axis < 0 || axis >= x->ndim || x->ndim != y->ndim || !std::equal(x->shape, x->shape + x->ndim, y->shape))
    throw Error(ValueError) << "cuDNN: softmax of " << describe(x) << " along axis " << axis << " is not "
                            << describe(y);
  cudnn();
  const VendorSession session("cuDNN", {x, y});
  std::array<int64_t, 3> parts{1, 1, 1};  // before the axis, along it, behind it
  for (int i = 0; i < x->ndim; ++i) parts[static_cast<size_t>(i < axis ? 0 : i == axis ? 1 : 2)] *= x->shape[i];
  std::lock_guard lock(dnn_mutex());
  const int code = dnn_code(DataType(x->dtype));
  const std::vector<int> extents{static_cast<int>(parts[0]), static_cast<int>(parts[1]), static_cast<int>(parts[2]), 1};
  auto described = tensor_of(kChannelsFirst, code, extents);
  const double one_double = 1, zero_double = 0;
  const float one_float = 1, zero_float = 0;
  const void* one = code == kDouble ? static_cast<const void*>(&one_double) : &one_float;
  const void* zero = code == kDouble ? static_cast<const void*>(&zero_double) : &zero_float;
  check_dnn(
      cudnn().cudnnSoftmaxForward(dnn_handle(session), is_log ? kSoftmaxLog : kSoftmaxAccurate, kSoftmaxOfChannels, one,
                                  described.get(), data_of(x), zero, described.get(), data_of(y)),
      "softmax");
}

}  // namespace tessera::cuda
