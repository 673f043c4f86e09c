#include "topi/nn/winograd.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/nn/pad.h"
#include "topi/nn/winograd_filter.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

using Values = std::vector<PrimExpr>;

constexpr int kTaps = kWinogradTaps;

void require_tile(int tile) {
  if (tile != 2 && tile != 4)
    throw Error(ValueError) << "there is no Winograd transform for tiles of " << tile << " results; there are 2 and 4";
}

PrimExpr times(double factor, const PrimExpr& x) { return x * make_const(x.dtype(), factor); }

/// B^T d, written so that what two rows share is computed once.
Values data_transform(int tile, const Values& d) {
  if (tile == 2) return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  PrimExpr even = d[4] - times(4, d[2]), odd = d[3] - times(4, d[1]);
  PrimExpr near = d[4] - d[2], far = times(2, d[3] - d[1]);
  return {times(4, d[0]) - times(5, d[2]) + d[4], even + odd, even - odd, near + far, near - far,
          times(4, d[1]) - times(5, d[3]) + d[5]};
}

/// A^T m
Values result_transform(int tile, const Values& m) {
  if (tile == 2) return {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
  PrimExpr sum = m[1] + m[2], difference = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
  return {m[0] + sum + sum2, difference + times(2, difference2), sum + times(4, sum2),
          difference + times(8, difference2) + m[5]};
}

/// G w
Values weight_transform(int tile, const Values& w) {
  Values out(static_cast<size_t>(tile + kTaps - 1));
  winograd_filter(tile, w.data(), out.data(), times);
  return out;
}

/// values[index]; a loop over `index` that is unrolled leaves one of them.
PrimExpr pick(const PrimExpr& index, const Values& values) {
  PrimExpr out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    out = make_select(equal(index, PrimExpr(static_cast<int>(i))), values[i], out);
  return out;
}

using Body = std::function<PrimExpr(const Array<PrimExpr>&)>;
struct Axis {
  const char* name;
  PrimExpr extent;
};

te::Tensor stage(const char* role, const std::vector<Axis>& dims, const Body& body, const char* tag = "") {
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (const Axis& dim : dims) {
    Var var = make_var(dim.name, dim.extent.dtype());
    axes.push_back(make_iter_var(make_range(make_zero(dim.extent.dtype()), dim.extent), var, IterType::DataPar));
    at.push_back(var);
  }
  Map<String, ObjectRef> attrs{{String(kWinogradStage), String(role)}};
  return te::output(te::compute_op(std::string("winograd_") + role, tag, attrs, axes, {body(at)}), 0);
}

/// The elements of one tile along one dimension.
template <class F>
Values along(int count, F element) {
  Values out;
  for (int i = 0; i < count; ++i) out.push_back(element(PrimExpr(i)));
  return out;
}

PrimExpr ceil_div(const PrimExpr& a, int b) { return floordiv(a + (b - 1), b); }

}  // namespace

te::Tensor winograd_weight(const te::Tensor& weight, int tile) {
  require_tile(tile);
  const int side = tile + kTaps - 1;
  const Array<PrimExpr>& shape = weight->shape;
  auto load = [&](const Array<PrimExpr>& at) { return te::load(weight, at); };
  te::Tensor half = te::compute(
      {shape[0], shape[1], side, kTaps},
      [&](const Array<PrimExpr>& i) {
        auto taps = along(kTaps, [&](const PrimExpr& tap) { return load({i[0], i[1], tap, i[3]}); });
        return pick(i[2], weight_transform(tile, taps));
      },
      "winograd_weight_rows");
  return te::compute(
      {side, side, shape[0], shape[1]},
      [&](const Array<PrimExpr>& i) {
        auto taps = along(kTaps, [&](const PrimExpr& tap) { return te::load(half, {i[2], i[3], i[0], tap}); });
        return pick(i[1], weight_transform(tile, taps));
      },
      "winograd_weight");
}

te::Tensor winograd_conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options, int tile) {
  require_tile(tile);
  for (const Array<PrimExpr>& ones : {options.strides, options.dilation})
    for (const PrimExpr& value : ones)
      if (!is_one(value)) throw Error(ValueError) << "Winograd's convolution has strides and dilation of 1";
  const int side = tile + kTaps - 1;
  Layout in = make_layout(options.data_layout), plain = make_layout("NCHW");
  const bool has_blocks = weight->shape.size() == 5;
  const int in_block = std::max<int>(static_cast<int>(in->factor_of('C')), 1);
  const PrimExpr out_block = has_blocks ? weight->shape[4] : PrimExpr(1);
  Array<PrimExpr> shape = convert_shape(in, plain, data->shape), padding = full_padding(options.padding, 2);
  const PrimExpr &batch = shape[0], ins = floordiv(shape[1], in_block), outs = weight->shape[2];
  PrimExpr height = shape[2] + padding[0] + padding[2] - (kTaps - 1);
  PrimExpr width = shape[3] + padding[1] + padding[3] - (kTaps - 1);
  PrimExpr down = ceil_div(height, tile), across = ceil_div(width, tile);

  // data with room for whole tiles
  PrimExpr padded_height = down * tile + (kTaps - 1), padded_width = across * tile + (kTaps - 1);
  te::Tensor padded = stage(
      kWinogradPadded, {{"n", batch}, {"c", ins}, {"y", padded_height}, {"x", padded_width}, {"i", PrimExpr(in_block)}},
      [&](const Array<PrimExpr>& i) {
        PrimExpr y = i[2] - padding[0], x = i[3] - padding[1];
        PrimExpr inside =
            logical_and(logical_and(i[2] >= padding[0], y < shape[2]), logical_and(i[3] >= padding[1], x < shape[3]));
        Array<PrimExpr> at = convert_indices(plain, in, {i[0], i[1] * in_block + i[4], y, x});
        if (in_block > 1) at = {i[0], i[1], y, x, i[4]};
        return if_then_else(inside, te::load(data, at), make_zero(data->dtype));
      },
      "injective,pad");
  te::Tensor columns = stage(kWinogradColumns,
                             {{"n", batch},
                              {"c", ins},
                              {"ty", down},
                              {"tx", across},
                              {"a", PrimExpr(side)},
                              {"b", PrimExpr(side)},
                              {"i", PrimExpr(in_block)}},
                             [&](const Array<PrimExpr>& i) {
                               auto column = along(side, [&](const PrimExpr& row) {
                                 return te::load(padded, {i[0], i[1], i[2] * tile + row, i[3] * tile + i[5], i[6]});
                               });
                               return pick(i[4], data_transform(tile, column));
                             });
  te::Tensor tiles = stage(kWinogradData,
                           {{"a", PrimExpr(side)},
                            {"b", PrimExpr(side)},
                            {"c", ins},
                            {"n", batch},
                            {"ty", down},
                            {"tx", across},
                            {"i", PrimExpr(in_block)}},
                           [&](const Array<PrimExpr>& i) {
                             auto row = along(side, [&](const PrimExpr& column) {
                               return te::load(columns, {i[3], i[2], i[4], i[5], i[0], column, i[6]});
                             });
                             return pick(i[1], data_transform(tile, row));
                           });
  IterVar rc = te::reduce_axis(make_range(make_zero(ins.dtype()), ins), "rc");
  IterVar ri = te::reduce_axis(make_range(0, in_block), "ri");
  std::vector<Axis> products_dims{{"a", PrimExpr(side)}, {"b", PrimExpr(side)}, {"f", outs},     {"n", batch},
                                  {"ty", down},          {"tx", across},        {"o", out_block}};
  te::Tensor sums = stage(kWinogradSums, products_dims, [&](const Array<PrimExpr>& i) {
    PrimExpr element = te::load(tiles, {i[0], i[1], rc->var, i[3], i[4], i[5], ri->var});
    PrimExpr channel = in_block == 1 ? PrimExpr(rc->var) : rc->var * in_block + ri->var;
    Array<PrimExpr> at{i[0], i[1], i[2], channel};
    if (has_blocks) at.push_back(i[6]);
    return te::sum(element * te::load(weight, at), {rc, ri});
  });
  te::Tensor products =
      stage(kWinogradProducts, products_dims, [&](const Array<PrimExpr>& i) { return te::load(sums, i); });
  te::Tensor rows = stage(kWinogradRows,
                          {{"n", batch},
                           {"f", outs},
                           {"ty", down},
                           {"tx", across},
                           {"r", PrimExpr(tile)},
                           {"b", PrimExpr(side)},
                           {"o", out_block}},
                          [&](const Array<PrimExpr>& i) {
                            auto column = along(side, [&](const PrimExpr& row) {
                              return te::load(products, {row, i[5], i[1], i[0], i[2], i[3], i[6]});
                            });
                            return pick(i[4], result_transform(tile, column));
                          });
  std::vector<Axis> result_dims{{"n", batch}, {"f", outs}, {"y", height}, {"x", width}};
  if (has_blocks) result_dims.push_back({"o", out_block});
  return stage(
      kWinogradResult, result_dims,
      [&](const Array<PrimExpr>& i) {
        PrimExpr o = has_blocks ? i[4] : PrimExpr(0);
        auto row = along(side, [&](const PrimExpr& column) {
          return te::load(rows,
                          {i[0], i[1], floordiv(i[2], tile), floordiv(i[3], tile), floormod(i[2], tile), column, o});
        });
        return pick(floormod(i[3], tile), result_transform(tile, row));
      },
      "conv2d_winograd");
}

}  // namespace tessera::topi
