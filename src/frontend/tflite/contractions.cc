// Convolutions and matmuls: of floats, of floats with weights of 8 bits, and of integers.

#include "frontend/common/integer_contractions.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/nn.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/quantize.h"
#include "ir/prim/ops.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tflite {
namespace {

using namespace relay;  // NOLINT: makers of calls
using tensorflow::QuantizedArgs;
using tensorflow::Windows;

/// Data and weight of 8 bits, whose sums int32 holds. Those of 16 bits are computed in floats.
bool stays_integer(Node& in, size_t data, size_t weight) {
  return in.quantized_input(data).is_given() && in.quantized_input(weight).is_given() &&
         in.quantized_output(0).is_given() && in.dtype(in[data]).bits == 8 && in.dtype(in[weight]).bits == 8 &&
         in.quantized_input(data).scale.size() == 1;
}

QuantizedArgs quantized_args(Node& in, size_t data, size_t weight) {
  const Quantization &x = in.quantized_input(data), &w = in.quantized_input(weight);
  return {zero_of(x), zero_of(w), scale_of(x), scale_of(w)};
}

/// Sums, biased, activated and as the integers of the result. `axis`: the channels.
Values finished_integers(Node& in, Expr sums, size_t data, size_t weight, size_t bias, int axis) {
  const Quantization &x = in.quantized_input(data), &w = in.quantized_input(weight), &out = in.quantized_output(0);
  if (in.has(bias)) sums = tensorflow::with_bias(sums, cast_if_needed(in, in[bias], DataType::Int(32)), axis);
  Quantization from;
  for (float scale : w.scale) from.scale.push_back(scale * x.scale[0]);
  from.zero.assign(from.scale.size(), 0);
  from.axis = axis;
  const DataType dtype = in.output_type(0);
  return {activated_integers(in, requantized(in, sums, from, out, dtype), in.integer("activation", 0), out, dtype)};
}

/// The same of floats.
Values finished_floats(Node& in, Expr out, size_t bias, int axis) {
  if (in.has(bias)) out = tensorflow::with_bias(out, cast_if_needed(in, floats(in, bias), in.dtype(out)), axis);
  out = activated(in, out, in.integer("activation", 0));
  return {quantized(in, out, in.quantized_output(0), in.output_type(0))};
}

Windows windows_of(Node& in, Ints kernel) {
  Windows out;
  const bool is_volume = kernel.size() == 3;
  out.kernel = std::move(kernel);
  for (const char* axis : {"_d", "_h", "_w"}) {
    if (axis[1] == 'd' && !is_volume) continue;
    out.strides.push_back(in.integer(std::string("stride") + axis, 1));
    out.dilations.push_back(in.integer(std::string("dilation") + axis, 1));
  }
  out.padding = in.text("padding", "VALID");
  return out;
}

Values conv2d(Node& in) {
  Ints shape = in.static_shape(in[1], "the filter of a convolution");  // (out, h, w, in)
  if (shape.size() != 4 || in.rank(in[0]) != 4) in.invalid("data and filter have four dimensions");
  Windows windows = windows_of(in, {shape[1], shape[2]});
  const int64_t* channels = as_int(in.shape(in[0])[3]);
  if (shape[3] < 1 || (channels && *channels % shape[3])) in.invalid("the channels of data and filter do not fit");
  const int64_t groups = channels ? *channels / shape[3] : 1;
  const Array<PrimExpr> order = int_array({1, 2, 3, 0});
  if (stays_integer(in, 0, 1)) {
    QuantizedArgs args = quantized_args(in, 0, 1);
    return finished_integers(in, tensorflow::convolution_of(in, in[0], transpose(in[1], order), windows, groups, &args),
                             0, 1, 2, 3);
  }
  return finished_floats(
      in, tensorflow::convolution_of(in, floats(in, 0), transpose(floats(in, 1), order), windows, groups), 2, 3);
}

Values depthwise_conv2d(Node& in) {
  Ints shape = in.static_shape(in[1], "the filter of a convolution");  // (1, h, w, out)
  const int64_t* channels = in.rank(in[0]) == 4 ? as_int(in.shape(in[0])[3]) : nullptr;
  if (shape.size() != 4 || !channels || *channels < 1 || shape[3] % *channels)
    in.invalid("the channels of data and filter do not fit");
  Windows windows = windows_of(in, {shape[1], shape[2]});
  auto filter = [&](const Expr& x) { return reshape_to(x, {shape[1], shape[2], 1, shape[3]}); };
  if (stays_integer(in, 0, 1)) {
    QuantizedArgs args = quantized_args(in, 0, 1);
    return finished_integers(in, tensorflow::convolution_of(in, in[0], filter(in[1]), windows, *channels, &args), 0, 1,
                             2, 3);
  }
  return finished_floats(in, tensorflow::convolution_of(in, floats(in, 0), filter(floats(in, 1)), windows, *channels),
                         2, 3);
}

Values conv3d(Node& in) {  // its filter lies as TensorFlow's
  Ints shape = in.static_shape(in[1], "the filter of a convolution");
  if (shape.size() != 5) in.invalid("the filter has five dimensions");
  Windows windows = windows_of(in, {shape[0], shape[1], shape[2]});
  return finished_floats(in, tensorflow::convolution_of(in, floats(in, 0), floats(in, 1), windows, 1), 2, 4);
}

Values conv3d_transpose(Node& in) {
  Ints shape = in.static_shape(in[1], "the filter of a convolution"), out = in.ints(0, "the shape of the result");
  if (shape.size() != 5 || out.size() != 5) in.invalid("the filter has five dimensions");
  Windows windows = windows_of(in, {shape[0], shape[1], shape[2]});
  Expr result = tensorflow::transposed_convolution(in, floats(in, 2), floats(in, 1), {out[1], out[2], out[3]}, windows);
  return finished_floats(in, result, 3, 4);
}

/// Inputs: the shape of the result, the filter (out, h, w, in), the data, a bias.
Values transpose_conv(Node& in) {
  Ints shape = in.static_shape(in[1], "the filter of a convolution"), out = in.ints(0, "the shape of the result");
  if (shape.size() != 4 || out.size() != 4) in.invalid("the filter has four dimensions");
  Windows windows = windows_of(in, {shape[1], shape[2]});
  const Array<PrimExpr> order = int_array({1, 2, 0, 3});
  const Ints extents{out[1], out[2]};
  if (stays_integer(in, 2, 1)) {
    QuantizedArgs args = quantized_args(in, 2, 1);
    Expr sums = tensorflow::transposed_convolution(in, in[2], transpose(in[1], order), extents, windows, &args);
    return finished_integers(in, sums, 2, 1, 3, 3);
  }
  return finished_floats(
      in, tensorflow::transposed_convolution(in, floats(in, 2), transpose(floats(in, 1), order), extents, windows), 3,
      3);
}

Values fully_connected(Node& in) {
  if (in.integer("weights_format", 0) != 0) in.unsupported("weights in the shuffled format");
  if (in.rank(in[1]) != 2 || in.rank(in[0]) < 1) in.invalid("the weight has two dimensions");
  const PrimExpr units = in.shape(in[1])[0], depth = in.shape(in[1])[1];
  if (!as_int(units) || !as_int(depth)) in.unknown("the shape of the weight must be known", in[1]);
  const Array<PrimExpr> shape = in.shape(in[0]);
  auto rows = [&](const Expr& x) {
    return shape.size() == 2 && as_int(shape[1]) && *as_int(shape[1]) == *as_int(depth)
               ? x
               : reshape(x, int_array({-1, *as_int(depth)}));
  };
  auto dense = [&](DataType out) {
    return make_attrs<DenseAttrs>([&](auto& attrs) {
      attrs.units = units;
      attrs.out_dtype = out;
    });
  };
  Values out;
  if (stays_integer(in, 0, 1)) {
    QuantizedArgs args = quantized_args(in, 0, 1);
    Expr sums =
        call_op("qnn.dense", {rows(in[0]), in[1], args.data_zero, args.filter_zero, args.data_scale, args.filter_scale},
                dense(DataType::Int(32)));
    out = finished_integers(in, sums, 0, 1, 2, 1);
  } else {
    out = finished_floats(in, call_op("nn.dense", {rows(floats(in, 0)), floats(in, 1)}, dense(DataType::Void())), 2, 1);
  }
  if (!in.flag("keep_num_dims") || shape.size() == 2) return out;
  Array<PrimExpr> whole;
  std::optional<std::vector<int64_t>> own = in.fixed_shape(in[0]);
  if (!own) in.unknown("the shape of the data must be known", in[0]);
  own->back() = *as_int(units);
  return {reshape_to(out[0].tensor, *own)};
}

Values batch_matmul(Node& in) {
  if (!stays_integer(in, 0, 1) || in.quantized_input(1).scale.size() != 1) {
    Node whole = in.with_inputs({Value(floats(in, 0)), Value(floats(in, 1))});
    Values out = tensorflow::convert_as("BatchMatMul", whole);
    return {quantized(in, out[0].tensor, in.quantized_output(0), in.output_type(0))};
  }
  auto matrix = [&](size_t i, bool is_transposed) {
    Expr x = in[i];
    if (is_transposed) {
      std::vector<int64_t> order(in.rank(x));
      for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
      if (order.size() < 2) in.invalid("an operand that is no matrix");
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      x = transpose(x, int_array(order));
    }
    return integers(in, x, zero_of(in.quantized_input(i)));
  };
  return finished_integers(in, integer_matmul(in, matrix(0, in.flag("adj_x")), matrix(1, in.flag("adj_y"))), 0, 1,
                           SIZE_MAX, -1);
}

}  // namespace

Rows contraction_rows() {
  constexpr Quantized kItself = Quantized::ByItself;
  return {
      {126, "BATCH_MATMUL", kItself, batch_matmul},
      {3, "CONV_2D", kItself, conv2d},
      {132, "CONV_3D", kItself, conv3d},
      {141, "CONV_3D_TRANSPOSE", kItself, conv3d_transpose},
      {4, "DEPTHWISE_CONV_2D", kItself, depthwise_conv2d},
      {9, "FULLY_CONNECTED", kItself, fully_connected},
      {67, "TRANSPOSE_CONV", kItself, transpose_conv},
  };
}

}  // namespace tessera::tflite
