// Convolutions and matmuls.

#include "relay/attrs/nn.h"
#include "frontend/common/packed_weights.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/windows.h"
#include "relay/attrs/conv.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

const char* kTransposedLayouts[] = {"OIW", "IOHW", "OIDHW"};  // (in, out, kernel...) in each

/// The shape of a weight (_, _, kernel...) for windows over `spatial` dimensions, which are checked too.
std::vector<int64_t> weight_shape(Operation& in, const Expr& weight, size_t spatial) {
  check_windows(in, spatial);
  Ints out = in.static_shape(weight, "the weight of a convolution");
  if (out.size() != spatial + 2) in.invalid("the weight has not as many dimensions as the data");
  return out;
}

}  // namespace

ConvWindows conv_windows(Operation& in, const Expr& filters, Expr* data) {
  const size_t spatial = in.spatial(in[0]);
  Ints weight = weight_shape(in, filters, spatial), ones(spatial, 1);
  ConvWindows out;
  out.kernel = in.integers("kernel_shape", {weight.begin() + 2, weight.end()});
  out.strides = in.integers("strides", ones);
  out.dilations = in.integers("dilations", ones);
  out.padding = padding_of(in, out.kernel, out.strides, out.dilations, data);
  out.groups = in.integer("group", 1);
  return out;
}

namespace {

Expr add_bias(Operation& in, const Expr& out, size_t index) {
  if (!in.has(index)) return out;
  return call_op("nn.bias_add", {out, in[index]}, make_attrs<BiasAddAttrs>([](auto& attrs) { attrs.axis = 1; }));
}

Values conv(Operation& in) { return {add_bias(in, convolution(in, in[0], in[1]), 2)}; }

// ---- transposed convolutions ----------------------------------------------------------------------------------------

/// What is cropped from the whole result at the begin and the end of each dimension; less than zero is added.
struct Crop {
  std::vector<int64_t> begin, end;
};

Crop crop_of(Operation& in, const Ints& kernel, const Ints& strides, const Ints& dilations, const Ints& more) {
  size_t spatial = kernel.size();
  std::string automatic = in.text("auto_pad", "NOTSET");
  Ints wanted = in.integers("output_shape"), pads = in.integers("pads");
  if (wanted.size() == spatial + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != spatial) in.invalid("output_shape has not as many numbers as the data");
  bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Crop out{std::vector<int64_t>(spatial, 0), std::vector<int64_t>(spatial, 0)};
  if (wanted.empty() && !is_same) {
    if (pads.size() == 2 * spatial && automatic == "NOTSET") {
      out.begin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(spatial));
      out.end.assign(pads.begin() + static_cast<int64_t>(spatial), pads.end());
    }
    return out;
  }
  Ints shape(spatial + 2, 1);  // where the result is as large as the data says, any does
  if (!wanted.empty()) shape = in.static_shape(in[0], "the shape of the result of a transposed convolution");
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = wanted.empty() ? shape[i + 2] * strides[i] : wanted[i];
    int64_t total = strides[i] * (shape[i + 2] - 1) + more[i] + (kernel[i] - 1) * dilations[i] + 1 - extent;
    int64_t half = total >= 0 ? total / 2 : -((1 - total) / 2);
    out.begin[i] = automatic == "SAME_UPPER" ? half : total - half;
    out.end[i] = total - out.begin[i];
  }
  return out;
}

template <class T>
Expr transposed_call(const char* op, Operation& in, size_t spatial) {
  Ints weight = weight_shape(in, in[1], spatial);
  Ints kernel = in.integers("kernel_shape", {weight.begin() + 2, weight.end()});
  Ints ones(spatial, 1), none(spatial, 0), strides = in.integers("strides", ones);
  Ints dilations = in.integers("dilations", ones), more = in.integers("output_padding", none);
  int64_t groups = in.integer("group", 1);
  Crop crop = crop_of(in, kernel, strides, dilations, more);
  bool is_plain = true;  // what the operator itself can crop and add
  for (size_t i = 0; i < spatial; ++i)
    is_plain = is_plain && crop.begin[i] >= 0 && crop.end[i] >= 0 &&
               (more[i] == 0 || more[i] < std::max(strides[i], dilations[i]));
  std::vector<int64_t> padding = crop.begin;
  padding.insert(padding.end(), crop.end.begin(), crop.end.end());
  Expr out = call_op(op, {in[0], in[1]}, make_attrs<T>([&](auto& attrs) {
                       attrs.strides = int_array(strides);
                       attrs.padding = int_array(is_plain ? padding : std::vector<int64_t>(2 * spatial, 0));
                       attrs.output_padding = int_array(is_plain ? more : none);
                       attrs.dilation = int_array(dilations);
                       attrs.groups = static_cast<int32_t>(groups);
                       attrs.channels = PrimExpr(static_cast<int>(weight[1] * groups));
                       attrs.kernel_size = int_array(kernel);
                       attrs.data_layout = kDataLayouts[spatial - 1];
                       attrs.kernel_layout = kTransposedLayouts[spatial - 1];
                     }));
  if (is_plain) return out;
  std::vector<int64_t> before(spatial + 2, 0), after(spatial + 2, 0);
  Ints shape = in.static_shape(out, "a result that is larger than its windows");
  for (size_t i = 0; i < spatial; ++i) {
    int axis = static_cast<int>(i) + 2;
    int64_t end = crop.end[i] - more[i];
    before[i + 2] = std::max<int64_t>(-crop.begin[i], 0);
    after[i + 2] = std::max<int64_t>(-end, 0);
    out = slice(out, axis, std::max<int64_t>(crop.begin[i], 0), shape[i + 2] - std::max<int64_t>(end, 0));
  }
  return pad_with(out, before, after, 0);
}

Values conv_transpose(Operation& in) {
  size_t spatial = in.spatial(in[0]);
  if (spatial == 1) return {add_bias(in, transposed_call<Conv1DTransposeAttrs>("nn.conv1d_transpose", in, 1), 2)};
  if (spatial == 2) return {add_bias(in, transposed_call<Conv2DTransposeAttrs>("nn.conv2d_transpose", in, 2), 2)};
  if (spatial == 3) return {add_bias(in, transposed_call<Conv3DTransposeAttrs>("nn.conv3d_transpose", in, 3), 2)};
  in.unsupported("a convolution over " + std::to_string(spatial) + " dimensions");
}

/// A convolution of each channel that looks back only; what it must remember is an input and an output.
Values causal_conv_with_state(Operation& in) {
  Ints weight = weight_shape(in, in[1], in.spatial(in[0]));
  std::string activation = in.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    in.invalid("the activation is none, silu or swish");
  int64_t width = weight[2];
  DataType dtype = in.dtype(in[0]);
  Expr padded = in.has(3) ? concatenate({in[3], in[0]}, 2) : pad_with(in[0], {0, 0, width - 1}, {0, 0, 0}, 0);
  DataType wide = dtype == DataType::Float(16) ? DataType::Float(32) : dtype;  // sums of halves are kept wide
  Array<Expr> args{cast_if_needed(in, padded, wide), cast_if_needed(in, in[1], wide)};
  Expr out = call_op("nn.conv1d", args, make_attrs<Conv1DAttrs>([&](auto& attrs) {
                       attrs.groups = static_cast<int32_t>(weight[0]);
                       attrs.channels = PrimExpr(static_cast<int>(weight[0]));
                       attrs.kernel_size = int_array({width});
                     }));
  if (in.has(2)) out = add(out, reshape(cast_if_needed(in, in[2], wide), int_array({-1, 1})));
  out = cast_if_needed(in, out, dtype);
  if (activation != "none") {
    Expr wide = cast_if_needed(in, out, DataType::Float(32));
    out = cast_if_needed(in, multiply(wide, sigmoid(wide)), dtype);
  }
  if (!in.wants(1)) return {out};
  Ints shape = in.static_shape(padded, "the state of a convolution");
  return {out, slice(padded, 2, shape[2] - (width - 1), shape[2])};
}

// ---- matmuls ------------------------------------------------------------------------------------------------

Values gemm(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  Expr out = call_op("nn.matmul", {in[0], in[1]}, make_attrs<MatmulAttrs>([&](auto& attrs) {
                       attrs.transpose_a = in.integer("transA", 0) != 0;
                       attrs.transpose_b = in.integer("transB", 0) != 0;
                     }));
  auto scaled = [&](Expr x, const char* name) {
    double factor = in.number(name, 1);
    if (factor == 1) return x;
    if (!is_float(dtype) && factor != static_cast<double>(static_cast<int64_t>(factor)))
      in.unsupported("a factor that is no whole number for integers");
    return multiply(x, make_scalar(factor, dtype));
  };
  out = scaled(out, "alpha");
  if (in.has(2)) out = add(out, scaled(in[2], "beta"));
  return {out};
}

Values matmul(Operation& in) {
  if (in.rank(in[0]) >= 2)
    if (std::optional<BlockedWeight> weight = as_blocked_weight(in[1]))
      return {matmul_by_packed(in, in[0], *weight, false)};
  return {matmul_like_numpy(in, in[0], in[1])};
}

Expr with_last_two_swapped(Operation& in, const Expr& x) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < in.rank(x); ++i) axes.push_back(static_cast<int64_t>(i));
  if (axes.size() < 2) return x;
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return transpose(x, int_array(axes));
}

Values fused_matmul(Operation& in) {
  if (in.integer("transBatchA", 0) != 0 || in.integer("transBatchB", 0) != 0) in.unsupported("a transposed batch");
  Expr a = in.integer("transA", 0) != 0 ? with_last_two_swapped(in, in[0]) : in[0];
  Expr b = in.integer("transB", 0) != 0 ? with_last_two_swapped(in, in[1]) : in[1];
  Expr out = matmul_like_numpy(in, a, b);
  double alpha = in.number("alpha", 1);
  return {alpha == 1 ? out : multiply(out, make_scalar(alpha, in.dtype(out)))};
}

Values determinant(Operation& in) { return {call_op("determinant", {in[0]})}; }

}  // namespace

Rows nn_rows() {
  return {
      {"CausalConvWithState", 1, causal_conv_with_state},
      {"Conv", 1, conv},
      {"ConvTranspose", 1, conv_transpose},
      {"Det", 11, determinant},
      {"FusedMatMul", 1, fused_matmul, kMicrosoftDomain},
      {"Gemm", 1, gemm},
      {"MatMul", 1, matmul},
  };
}

}  // namespace tessera::onnx
