#include "ir/prim/ops.h"
#include "op/gradient/expansion.h"
#include "op/nn/gradients.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/make.h"
#include "topi/nn/conv.h"

namespace tessera::op {

using namespace relay;

namespace {

Expr matmul(const Expr& a, const Expr& b, bool transpose_a, bool transpose_b, DataType out_dtype) {
  return call_op("nn.matmul", {a, b}, make_attrs<MatmulAttrs>([&](auto& attrs) {
                   attrs.transpose_a = transpose_a;
                   attrs.transpose_b = transpose_b;
                   attrs.out_dtype = out_dtype;
                 }));
}

Expr batch_matmul(const Expr& a, const Expr& b, bool transpose_a, bool transpose_b, DataType out_dtype) {
  return call_op("nn.batch_matmul", {a, b}, make_attrs<BatchMatmulAttrs>([&](auto& attrs) {
                   attrs.transpose_a = transpose_a;
                   attrs.transpose_b = transpose_b;
                   attrs.out_dtype = out_dtype;
                 }));
}

DataType dtype_of(const Expr& x) { return tensor_type(x)->dtype; }

/// The leading dimensions as one.
Expr as_rows(const Expr& x, const PrimExpr& columns) { return reshape(x, {PrimExpr(-1), columns}); }

/// The extents of a call's argument in another layout; an error where one is not a constant, unless it is the batch.
Array<PrimExpr> known_shape(const Expr& x, const String& from, const String& to) {
  Array<PrimExpr> out = convert_shape(make_layout(from), make_layout(to), tensor_type(x)->shape);
  for (size_t i = 0; i < out.size(); ++i)
    if (!as_int(out[i]) && to.str()[i] != 'N')
      throw Error(NotImplementedError) << "a convolution whose shape is not known has no gradient";
  return out;
}

/// The convolution that a gradient is taken of, in plain layouts.
struct PlainConv {
  size_t spatial;
  Array<PrimExpr> data, weight;  // shapes: (n, c, ...) and (out, in / groups, ...)
  Array<PrimExpr> strides, padding, dilation;
  int groups;
};

Attrs conv_attrs(size_t spatial, const std::function<void(ConvAttrs&)>& fill) {
  if (spatial == 1) return make_attrs<Conv1DAttrs>(fill);
  if (spatial == 2) return make_attrs<Conv2DAttrs>(fill);
  return make_attrs<Conv3DAttrs>(fill);
}
Attrs transpose_attrs(size_t spatial, const std::function<void(ConvTransposeAttrs&)>& fill) {
  if (spatial == 1) return make_attrs<Conv1DTransposeAttrs>(fill);
  if (spatial == 2) return make_attrs<Conv2DTransposeAttrs>(fill);
  return make_attrs<Conv3DTransposeAttrs>(fill);
}
std::string conv_name(size_t spatial, const char* suffix = "") {
  return "nn.conv" + std::to_string(spatial) + "d" + suffix;
}

/// The gradient by the data: each element of `grad` spreads over the window it came from.
Expr data_gradient(const PlainConv& conv, const Expr& grad, const Array<PrimExpr>& grad_shape, const Expr& weight,
                   DataType dtype) {
  Attrs attrs = transpose_attrs(conv.spatial, [&](ConvTransposeAttrs& a) {
    a.strides = conv.strides;
    a.padding = conv.padding;
    a.dilation = conv.dilation;
    a.groups = conv.groups;
    a.kernel_layout = topi::plain_transposed_kernel_layout(conv.spatial);  // (out, in / groups, ...) is what it takes
    a.out_dtype = dtype;
    for (size_t i = 0; i < conv.spatial; ++i) {  // elements behind the last window
      PrimExpr covered = topi::spread_extent(grad_shape[2 + i], conv.weight[2 + i], conv.dilation[i], conv.strides[i],
                                             conv.padding[i] + conv.padding[i + conv.spatial]);
      a.output_padding.set(i, conv.data[2 + i] - covered);
    }
  });
  return call_op(conv_name(conv.spatial, "_transpose"), {grad, weight}, attrs);
}

/// The gradient by the weight as a convolution of data and `grad` with batch and channels swapped, one for each group:
/// strides and dilation are swapped.
Expr weight_gradient_by_conv(const PlainConv& conv, const Expr& data, const Expr& grad, DataType dtype) {
  Attrs attrs = conv_attrs(conv.spatial, [&](ConvAttrs& a) {
    a.strides = conv.dilation;
    a.dilation = conv.strides;
    a.padding = conv.padding;
    a.out_dtype = dtype;
  });
  Array<PrimExpr> swap{PrimExpr(1), PrimExpr(0)};
  for (size_t i = 0; i < conv.spatial; ++i) swap.push_back(PrimExpr(static_cast<int>(i) + 2));
  Expr datas = data, grads = grad;
  if (conv.groups > 1) {
    datas = split(data, conv.groups, 1);
    grads = split(grad, conv.groups, 1);
  }
  Array<Expr> parts;
  for (int g = 0; g < conv.groups; ++g) {
    Expr x = conv.groups > 1 ? make_get_item(datas, g) : datas;
    Expr y = conv.groups > 1 ? make_get_item(grads, g) : grads;
    Expr part = call_op(conv_name(conv.spatial), {transpose(x, swap), transpose(y, swap)}, attrs);
    Array<PrimExpr> begin(conv.spatial + 2, PrimExpr(0));
    Array<PrimExpr> end{conv.weight[1], floordiv(conv.weight[0], conv.groups)};
    for (size_t i = 0; i < conv.spatial; ++i) end.push_back(conv.weight[2 + i]);
    parts.push_back(transpose(strided_slice(part, begin, end), swap));
  }
  return conv.groups > 1 ? concatenate(parts, 0) : parts[0];
}

Expr weight_gradient(const PlainConv& conv, const Expr& data, const Expr& grad, DataType dtype) {
  if (conv.spatial != 2) return weight_gradient_by_conv(conv, data, grad, dtype);
  Attrs attrs = make_attrs<Conv2DAttrs>([&](auto& a) {
    a.strides = conv.strides;
    a.padding = conv.padding;
    a.dilation = conv.dilation;
    a.groups = conv.groups;
    a.channels = conv.weight[0];
    a.kernel_size = {conv.weight[2], conv.weight[3]};
    a.kernel_layout = "NCHW";  // of the data
    a.out_layout = "OIHW";     // of the weight
    a.out_dtype = dtype;
  });
  return call_op("nn.conv2d_backward_weight", {grad, data}, attrs);
}

}  // namespace

/// (..., k) times (k, units); both operands may be stored transposed, as the second of nn.dense is.
Array<Expr> matmul_gradient(const Expr& call, const Expr& grad) {
  const Expr &a = args_of(call)[0], &b = args_of(call)[1];
  bool transpose_a = false, transpose_b = true;
  if (auto* attrs = call.as<relay::Call>()->attrs.as<MatmulAttrs>()) {
    transpose_a = attrs->transpose_a;
    transpose_b = attrs->transpose_b;
  }
  const Array<PrimExpr>& shape = tensor_type(a)->shape;
  Expr by_a = matmul(grad, b, false, !transpose_b, dtype_of(a)), rows = a;
  if (transpose_a) {
    Array<PrimExpr> swap;
    for (size_t i = 0; i < shape.size(); ++i) swap.push_back(PrimExpr(static_cast<int>(i)));
    swap.set(shape.size() - 1, PrimExpr(static_cast<int>(shape.size()) - 2));
    swap.set(shape.size() - 2, PrimExpr(static_cast<int>(shape.size()) - 1));
    by_a = transpose(by_a, swap);
    rows = transpose(a, swap);
  }
  const Array<PrimExpr>& weight = tensor_type(b)->shape;
  rows = as_rows(rows, weight[transpose_b ? 1 : 0]);
  Expr grads = as_rows(grad, weight[transpose_b ? 0 : 1]);
  Expr by_b =
      transpose_b ? matmul(grads, rows, true, false, dtype_of(b)) : matmul(rows, grads, true, false, dtype_of(b));
  return {by_a, by_b};
}

/// A linear layer whose weight lies in blocks is one whose weight does not.
Array<Expr> dense_pack_gradient(const Expr& call, const Expr& grad) {
  return expanded_gradient(call.as<relay::Call>(), grad, [&](const Exprs& args) {
    const Array<PrimExpr>& shape = tensor_type(args_of(call)[1])->shape;
    Expr rows = transpose(args[1], {PrimExpr(0), PrimExpr(2), PrimExpr(1)});
    rows = reshape(rows, {PrimExpr(-1), shape[1]});
    return call_op("nn.dense", {args[0], rows}, make_attrs<DenseAttrs>([&](auto& a) { a.out_dtype = dtype_of(call); }));
  });
}

Array<Expr> batch_matmul_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<BatchMatmulAttrs>(call);
  const Expr &a = args_of(call)[0], &b = args_of(call)[1];
  bool ta = attrs->transpose_a, tb = attrs->transpose_b;
  Expr by_a = ta ? batch_matmul(b, grad, tb, true, dtype_of(a)) : batch_matmul(grad, b, false, !tb, dtype_of(a));
  Expr by_b = tb ? batch_matmul(grad, a, true, ta, dtype_of(b)) : batch_matmul(a, grad, !ta, false, dtype_of(b));
  return {collapse_sum_like(by_a, a), collapse_sum_like(by_b, b)};
}

Array<Expr> conv_gradient(const Expr& call, const Expr& given) {
  auto* attrs = call_attrs<ConvAttrs>(call);
  const Array<Expr>& args = args_of(call);
  const size_t spatial = attrs->strides.size();
  String plain = topi::plain_data_layout(spatial), plain_kernel = topi::plain_kernel_layout(spatial);
  const String& out_layout = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  PlainConv conv{spatial,
                 known_shape(args[0], attrs->data_layout, plain),
                 known_shape(args[1], attrs->kernel_layout, plain_kernel),
                 attrs->strides,
                 topi::full_padding(attrs->padding, spatial),
                 attrs->dilation,
                 attrs->groups};
  Array<PrimExpr> grad_shape = known_shape(call, out_layout, plain), weight_shape = conv.weight;
  Expr data = in_layout(args[0], attrs->data_layout, plain);
  Expr weight = in_layout(args[1], attrs->kernel_layout, plain_kernel), grad = in_layout(given, out_layout, plain);
  if (topi::is_depthwise(conv.groups, conv.data[1], conv.weight)) {  // (channels, multiplier) as (out, in / groups)
    conv.weight.set(0, conv.weight[0] * conv.weight[1]);
    conv.weight.set(1, PrimExpr(1));
    weight = reshape(weight, conv.weight);
  }
  Expr by_data = data_gradient(conv, grad, grad_shape, weight, dtype_of(args[0]));
  Expr by_weight = reshape(weight_gradient(conv, data, grad, dtype_of(args[1])), weight_shape);
  return {in_layout(by_data, plain, attrs->data_layout), in_layout(by_weight, plain_kernel, attrs->kernel_layout)};
}

/// A transposed convolution is the gradient of a convolution by its data, so its own gradient by its data is that
/// convolution, and that by its weight the convolution's with data and gradient swapped.
Array<Expr> conv_transpose_gradient(const Expr& call, const Expr& given) {
  auto* attrs = call_attrs<ConvTransposeAttrs>(call);
  const Array<Expr>& args = args_of(call);
  const size_t spatial = attrs->strides.size();
  String plain = topi::plain_data_layout(spatial), plain_kernel = topi::plain_transposed_kernel_layout(spatial);
  const String& out_layout = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  PlainConv conv{spatial,
                 known_shape(call, out_layout, plain),
                 known_shape(args[1], attrs->kernel_layout, plain_kernel),
                 attrs->strides,
                 topi::full_padding(attrs->padding, spatial),
                 attrs->dilation,
                 attrs->groups};
  Expr data = in_layout(args[0], attrs->data_layout, plain), grad = in_layout(given, out_layout, plain);
  Expr weight = in_layout(args[1], attrs->kernel_layout, plain_kernel);
  Expr by_data = call_op(conv_name(spatial), {grad, weight}, conv_attrs(spatial, [&](ConvAttrs& a) {
                           a.strides = conv.strides;
                           a.padding = conv.padding;
                           a.dilation = conv.dilation;
                           a.groups = conv.groups;
                           a.out_dtype = dtype_of(args[0]);
                         }));
  Expr by_weight = weight_gradient(conv, grad, data, dtype_of(args[1]));
  return {in_layout(by_data, plain, attrs->data_layout), in_layout(by_weight, plain_kernel, attrs->kernel_layout)};
}

/// The gradient of a convolution by its weight is linear in both arguments: that of the convolution's result gets the
/// convolution with what reaches the weight as filters, and the data the gradient that this convolution has by its data.
Array<Expr> conv_backward_weight_gradient(const Expr& call, const Expr& given) {
  auto* attrs = call_attrs<ConvAttrs>(call);
  const Array<Expr>& args = args_of(call);
  const String &grad_layout = attrs->data_layout, &data_layout = attrs->kernel_layout;
  const String weight_layout = attrs->out_layout.empty() ? String("OIHW") : attrs->out_layout;
  PlainConv conv{2,
                 known_shape(args[1], data_layout, "NCHW"),
                 known_shape(call, weight_layout, "OIHW"),
                 attrs->strides,
                 topi::full_padding(attrs->padding, 2),
                 attrs->dilation,
                 attrs->groups};
  Expr weight = in_layout(given, weight_layout, "OIHW"), data = in_layout(args[1], data_layout, "NCHW");
  Expr grad = in_layout(args[0], grad_layout, "NCHW");
  Expr convolved = call_op("nn.conv2d", {data, weight}, conv_attrs(2, [&](ConvAttrs& a) {
                             a.strides = conv.strides;
                             a.padding = conv.padding;
                             a.dilation = conv.dilation;
                             a.groups = conv.groups;
                             a.out_dtype = dtype_of(args[0]);
                           }));
  Expr by_data = data_gradient(conv, grad, known_shape(args[0], grad_layout, "NCHW"), weight, dtype_of(args[1]));
  return {in_layout(convolved, "NCHW", grad_layout), in_layout(by_data, "NCHW", data_layout)};
}

}  // namespace tessera::op
