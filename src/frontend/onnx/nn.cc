// Convolutions, pools and matrix products.

#include "relay/attrs/nn.h"
#include "frontend/onnx/importer.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

const char* kDataLayouts[] = {"NCW", "NCHW", "NCDHW"};
const char* kKernelLayouts[] = {"OIW", "OIHW", "OIDHW"};

/// Begins, then ends, for `auto_pad` too.
std::vector<int64_t> padding_of(Operation& in, const std::vector<int64_t>& kernel, const std::vector<int64_t>& strides,
                                const std::vector<int64_t>& dilations) {
  size_t spatial = kernel.size();
  std::string automatic = in.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET") return in.integers("pads", std::vector<int64_t>(2 * spatial, 0));
  std::vector<int64_t> out(2 * spatial, 0);
  if (automatic == "VALID") return out;
  std::vector<int64_t> shape = in.static_shape(in[0], "auto_pad");
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = shape[i + 2], wanted = (extent + strides[i] - 1) / strides[i];
    int64_t window = (kernel[i] - 1) * dilations[i] + 1;
    int64_t total = std::max<int64_t>((wanted - 1) * strides[i] + window - extent, 0);
    int64_t less = total / 2, more = total - less;
    out[i] = automatic == "SAME_LOWER" ? more : less;
    out[i + spatial] = automatic == "SAME_LOWER" ? less : more;
  }
  return out;
}

template <class T>
Expr conv_call(const char* op, Operation& in, size_t spatial) {
  std::vector<int64_t> weight = in.static_shape(in[1], "the weight of a convolution");
  std::vector<int64_t> kernel = in.integers("kernel_shape", {weight.begin() + 2, weight.end()});
  std::vector<int64_t> ones(spatial, 1), strides = in.integers("strides", ones);
  std::vector<int64_t> dilations = in.integers("dilations", ones);
  return call_op(op, {in[0], in[1]}, make_attrs<T>([&](auto& attrs) {
                   attrs.strides = int_array(strides);
                   attrs.padding = int_array(padding_of(in, kernel, strides, dilations));
                   attrs.dilation = int_array(dilations);
                   attrs.groups = static_cast<int32_t>(in.integer("group", 1));
                   attrs.channels = PrimExpr(static_cast<int>(weight[0]));
                   attrs.kernel_size = int_array(kernel);
                   attrs.data_layout = kDataLayouts[spatial - 1];
                   attrs.kernel_layout = kKernelLayouts[spatial - 1];
                 }));
}

Expr add_bias(Operation& in, const Expr& out, size_t index) {
  if (!in.has(index)) return out;
  return call_op("nn.bias_add", {out, in[index]}, make_attrs<BiasAddAttrs>([](auto& attrs) { attrs.axis = 1; }));
}

Values conv(Operation& in) {
  size_t spatial = in.rank(in[0]) - 2;
  if (spatial == 1) return {add_bias(in, conv_call<Conv1DAttrs>("nn.conv1d", in, spatial), 2)};
  if (spatial == 2) return {add_bias(in, conv_call<Conv2DAttrs>("nn.conv2d", in, spatial), 2)};
  if (spatial == 3) return {add_bias(in, conv_call<Conv3DAttrs>("nn.conv3d", in, spatial), 2)};
  in.unsupported("a convolution over " + std::to_string(spatial) + " dimensions");
}

template <class T>
Expr pool_call(const char* op, Operation& in, size_t spatial, const std::function<void(T&)>& more = {}) {
  std::vector<int64_t> kernel = in.integers("kernel_shape"), ones(spatial, 1);
  if (kernel.size() != spatial) in.invalid("kernel_shape has not as many numbers as there are dimensions");
  std::vector<int64_t> strides = in.integers("strides", ones), dilations = in.integers("dilations", ones);
  return call_op(op, {in[0]}, make_attrs<T>([&](T& attrs) {
                   attrs.pool_size = int_array(kernel);
                   attrs.strides = int_array(strides);
                   attrs.dilation = int_array(dilations);
                   attrs.padding = int_array(padding_of(in, kernel, strides, dilations));
                   attrs.layout = kDataLayouts[spatial - 1];
                   attrs.ceil_mode = in.integer("ceil_mode", 0) != 0;
                   if (more) more(attrs);
                 }));
}

Values max_pool(Operation& in) {
  size_t spatial = in.rank(in[0]) - 2;
  if (in.wants(1)) in.unsupported("the indices of a pool");
  if (spatial == 1) return {pool_call<MaxPool1DAttrs>("nn.max_pool1d", in, spatial)};
  if (spatial == 2) return {pool_call<MaxPool2DAttrs>("nn.max_pool2d", in, spatial)};
  if (spatial == 3) return {pool_call<MaxPool3DAttrs>("nn.max_pool3d", in, spatial)};
  in.unsupported("a pool over " + std::to_string(spatial) + " dimensions");
}

Values average_pool(Operation& in) {
  size_t spatial = in.rank(in[0]) - 2;
  bool counts = in.integer("count_include_pad", 0) != 0;
  auto more = [&](auto& attrs) { attrs.count_include_pad = counts; };
  if (spatial == 1) return {pool_call<AvgPool1DAttrs>("nn.avg_pool1d", in, spatial, more)};
  if (spatial == 2) return {pool_call<AvgPool2DAttrs>("nn.avg_pool2d", in, spatial, more)};
  if (spatial == 3) return {pool_call<AvgPool3DAttrs>("nn.avg_pool3d", in, spatial, more)};
  in.unsupported("a pool over " + std::to_string(spatial) + " dimensions");
}

std::vector<int64_t> spatial_axes(Operation& in) {
  std::vector<int64_t> out;
  for (size_t i = 2; i < in.rank(in[0]); ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}
Values global_average_pool(Operation& in) { return {mean(in[0], int_array(spatial_axes(in)), true)}; }
Values global_max_pool(Operation& in) { return {reduce("max", in[0], int_array(spatial_axes(in)), true)}; }

Expr product(Operation& in, Expr a, Expr b, bool transpose_a, bool transpose_b) {
  (void)in;
  return call_op("nn.matmul", {a, b}, make_attrs<MatmulAttrs>([&](auto& attrs) {
                   attrs.transpose_a = transpose_a;
                   attrs.transpose_b = transpose_b;
                 }));
}

Values gemm(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  Expr out = product(in, in[0], in[1], in.integer("transA", 0) != 0, in.integer("transB", 0) != 0);
  auto scaled = [&](Expr x, const char* name) {
    double factor = in.number(name, 1);
    return factor == 1 ? x : multiply(x, make_scalar(factor, dtype));
  };
  out = scaled(out, "alpha");
  if (in.has(2)) out = add(out, scaled(in[2], "beta"));
  return {out};
}

Values matmul(Operation& in) {
  if (in.rank(in[0]) != 2 || in.rank(in[1]) != 2) in.unsupported("a product of more than two dimensions");
  return {product(in, in[0], in[1], false, false)};
}

}  // namespace

Rows nn_rows() {
  return {
      {"AveragePool", 1, average_pool},
      {"Conv", 1, conv},
      {"Gemm", 1, gemm},
      {"GlobalAveragePool", 1, global_average_pool},
      {"GlobalMaxPool", 1, global_max_pool},
      {"MatMul", 1, matmul},
      {"MaxPool", 1, max_pool},
  };
}

}  // namespace tessera::onnx
