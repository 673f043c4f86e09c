#include "topi/nn/deformable.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/image/sample.h"
#include "topi/nn/axes.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
te::Tensor deformable_conv2d(const te::Tensor& data, const te::Tensor& offset, const te::Tensor& weight,
                             int deformable_groups, const ConvOptions& options) {
  Layout plain = make_layout("NCHW"), in = make_layout(options.data_layout);
  Layout kernel = make_layout(options.kernel_layout), plain_kernel = make_layout("OIHW");
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape);
  Array<PrimExpr> weight_shape = convert_shape(kernel, plain_kernel, weight->shape);
  Array<PrimExpr> counts = convert_shape(in, plain, offset->shape), padding = full_padding(options.padding, 2);
  std::vector<int> axes{in->index_of('H'), in->index_of('W')};
  PrimExpr channels_per_group = floordiv(shape[1], deformable_groups);
  DataType real = offset->dtype;

  // each element of each window: (n, c, kernel y, kernel x, y, x)
  te::Tensor taken = compute(
      {shape[0], shape[1], weight_shape[2], weight_shape[3], counts[2], counts[3]}, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr first = (floordiv(at[1], channels_per_group) * weight_shape[2] * weight_shape[3] +
                          at[2] * weight_shape[3] + at[3]) *
                         2;
        std::vector<PrimExpr> positions;
        PrimExpr is_outside;
        for (size_t i = 0; i < 2; ++i) {
          PrimExpr moved =
              te::load(offset, convert_indices(plain, in, {at[0], first + static_cast<int>(i), at[4], at[5]}));
          PrimExpr grid = at[4 + i] * options.strides[i] - padding[i] + at[2 + i] * options.dilation[i];
          PrimExpr position = tessera::cast(real, grid) + moved;
          PrimExpr outside = logical_or(position < make_zero(real), position >= tessera::cast(real, shape[2 + i]));
          is_outside = is_outside ? logical_or(is_outside, outside) : outside;
          positions.push_back(position);
        }
        PrimExpr zero = make_zero(at[0].dtype());
        PrimExpr value = sample_linear(data, convert_indices(plain, in, {at[0], at[1], zero, zero}), axes, positions);
        return tessera::cast(data->dtype, if_then_else(is_outside, make_zero(real), value));
      },
      "compute", "");

  IterVar rc = reduce_over("rc", weight_shape[1]), ry = reduce_over("ry", weight_shape[2]),
          rx = reduce_over("rx", weight_shape[3]);
  auto groups = static_cast<int>(options.groups);
  auto cast = [&](const PrimExpr& e) { return tessera::cast(options.out_dtype, e); };
  return compute(
      convert_shape(plain, in, {shape[0], weight_shape[0], counts[2], counts[3]}), "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> plain_at = convert_indices(in, plain, at);
        PrimExpr channel = rc->var;
        if (groups != 1) channel = floordiv(plain_at[1], floordiv(weight_shape[0], groups)) * weight_shape[1] + rc->var;
        PrimExpr element = te::load(taken, {plain_at[0], channel, ry->var, rx->var, plain_at[2], plain_at[3]});
        PrimExpr factor =
            te::load(weight, convert_indices(plain_kernel, kernel, {plain_at[1], rc->var, ry->var, rx->var}));
        return te::sum(cast(element) * cast(factor), {rc, ry, rx});
      },
      "compute", options.data_layout == "NHWC" ? "deformable_conv2d_nhwc" : "deformable_conv2d_nchw");
}

Array<PrimExpr> correlation_extents(const PrimExpr& height, const PrimExpr& width, const CorrelationOptions& options) {
  Array<PrimExpr> padding = full_padding(options.padding, 2);
  int side = options.max_displacement / options.stride2 * 2 + 1;
  int border = options.max_displacement + (options.kernel_size - 1) / 2;
  auto count = [&](const PrimExpr& extent, size_t i) -> PrimExpr {
    if (extent.as<AnyDim>()) return extent;
    PrimExpr room = extent + padding[i] + padding[i + 2] - 2 * border;
    return floordiv(room + (options.stride1 - 1), options.stride1);
  };
  return {PrimExpr(side * side), count(height, 0), count(width, 1)};
}

te::Tensor correlation(const te::Tensor& data1, const te::Tensor& data2, const CorrelationOptions& options) {
  Array<PrimExpr> padding = full_padding(options.padding, 2);
  Array<PrimExpr> before{PrimExpr(0), PrimExpr(0), padding[0], padding[1]};
  Array<PrimExpr> after{PrimExpr(0), PrimExpr(0), padding[2], padding[3]};
  PrimExpr zero = make_zero(data1->dtype);
  te::Tensor first = pad(data1, before, after, zero, "padded_data1"),
             second = pad(data2, before, after, zero, "padded_data2");
  Array<PrimExpr> extents = correlation_extents(data1->shape[2], data1->shape[3], options);
  int radius = options.max_displacement / options.stride2, side = 2 * radius + 1;
  IterVar rc = reduce_over("rc", data1->shape[1]);
  IterVar ry = reduce_over("ry", PrimExpr(options.kernel_size)), rx = reduce_over("rx", PrimExpr(options.kernel_size));
  Array<PrimExpr> shape{data1->shape[0], extents[0], extents[1], extents[2]};
  te::Tensor total = compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr y = at[2] * options.stride1 + options.max_displacement + ry->var;
        PrimExpr x = at[3] * options.stride1 + options.max_displacement + rx->var;
        PrimExpr dy = (floordiv(at[1], side) - radius) * options.stride2;
        PrimExpr dx = (floormod(at[1], side) - radius) * options.stride2;
        PrimExpr a = te::load(first, {at[0], rc->var, y, x}), b = te::load(second, {at[0], rc->var, y + dy, x + dx});
        return te::sum(options.is_multiply ? a * b : abs(a - b), {rc, ry, rx});
      },
      "correlation_sum", "");
  PrimExpr count = data1->shape[1] * (options.kernel_size * options.kernel_size);
  return compute(
      shape, "i",
      [&](const Array<PrimExpr>& at) { return div(te::load(total, at), tessera::cast(total->dtype, count)); },
      "correlation", "correlation_nchw");
}

}  // namespace tessera::topi
