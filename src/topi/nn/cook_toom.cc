#include "topi/nn/cook_toom.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

using Indices = Array<PrimExpr>;

/// The coefficients of the product of (x - p) over all points but `without` (none where it is -1), lowest power first.
std::vector<double> polynomial(const std::vector<double>& points, int without) {
  std::vector<double> out{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (static_cast<int>(i) == without) continue;
    out.push_back(0);
    for (size_t k = out.size() - 1; k > 0; --k) out[k] = out[k - 1] - points[i] * out[k];
    out[0] = -points[i] * out[0];
  }
  return out;
}

/// Element (row, column) of a matrix of constants; loops that are unrolled leave one number.
PrimExpr element(const Matrix& matrix, const PrimExpr& row, const PrimExpr& column, DataType dtype) {
  auto pick = [](const PrimExpr& index, size_t count, const std::function<PrimExpr(size_t)>& value) {
    PrimExpr out = value(count - 1);
    for (size_t i = count - 1; i-- > 0;) out = make_select(equal(index, PrimExpr(static_cast<int>(i))), value(i), out);
    return out;
  };
  return pick(row, matrix.size(), [&](size_t i) {
    return pick(column, matrix[0].size(), [&](size_t j) { return make_const(dtype, matrix[i][j]); });
  });
}

Indices with_index(const Indices& at, size_t axis, const PrimExpr& index) {
  Indices out = at;
  out.set(axis, index);
  return out;
}

/// The tensor with one axis multiplied by a matrix: a sum, which is computed once for all its consumers.
te::Tensor along(const te::Tensor& x, size_t axis, const Matrix& matrix, bool transposed, const String& name) {
  Indices shape = x->shape;
  shape.set(axis, PrimExpr(static_cast<int>(transposed ? matrix[0].size() : matrix.size())));
  const PrimExpr extent(static_cast<int>(transposed ? matrix.size() : matrix[0].size()));
  IterVar k = te::reduce_axis(make_range(make_zero(extent.dtype()), extent), "k");
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        PrimExpr factor =
            transposed ? element(matrix, k->var, at[axis], x->dtype) : element(matrix, at[axis], k->var, x->dtype);
        return te::sum(te::load(x, with_index(at, axis, k->var)) * factor, {k});
      },
      name, "");
}

}  // namespace

CookToom cook_toom(int tile, int kernel_size) {
  static const std::vector<double> kPoints{0, 1, -1, 2, -2, 0.5, -0.5, 4, -4, 0.25, -0.25};
  const int alpha = tile + kernel_size - 1;
  if (tile < 1 || kernel_size < 1 || alpha - 1 > static_cast<int>(kPoints.size()))
    throw Error(ValueError) << "there is no Winograd transform for tiles of " << tile << " results and kernels of "
                            << kernel_size;
  const std::vector<double> points(kPoints.begin(), kPoints.begin() + (alpha - 1));
  auto rows = [](int count, int width) { return Matrix(count, std::vector<double>(width)); };
  CookToom out{rows(alpha, tile), rows(alpha, alpha), rows(alpha, kernel_size)};
  for (int i = 0; i + 1 < alpha; ++i) {
    double weight = 1;
    for (int j = 0; j + 1 < alpha; ++j)
      if (j != i) weight *= points[i] - points[j];
    double power = 1;
    for (int k = 0; k < std::max(tile, kernel_size); ++k, power *= points[i]) {
      if (k < tile) out.a[i][k] = power;
      if (k < kernel_size) out.g[i][k] = power / weight;
    }
    const std::vector<double> vanishing = polynomial(points, i);
    for (size_t k = 0; k < vanishing.size(); ++k) out.b[k][i] = vanishing[k];
  }
  out.a[alpha - 1][tile - 1] = out.g[alpha - 1][kernel_size - 1] = 1;
  const std::vector<double> all = polynomial(points, -1);
  for (size_t k = 0; k < all.size(); ++k) out.b[k][alpha - 1] = all[k];
  return out;
}

te::Tensor cook_toom_weight(const te::Tensor& weight, int tile, size_t first, bool keeps_order, const String& name) {
  te::Tensor out = weight;
  for (size_t axis = first; axis < weight->shape.size(); ++axis) {
    const int64_t* kernel_size = as_int(weight->shape[axis]);
    if (!kernel_size) throw Error(ValueError) << "Winograd's weight has a kernel of known size";
    out = along(out, axis, cook_toom(tile, static_cast<int>(*kernel_size)).g, false, name + "_part");
  }
  if (keeps_order) return out;
  Indices shape(out->shape.begin() + 2, out->shape.end());
  shape.push_back(out->shape[0]);
  shape.push_back(out->shape[1]);
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        Indices from{at[at.size() - 2], at[at.size() - 1]};
        for (size_t i = 0; i + 2 < at.size(); ++i) from.push_back(at[i]);
        return te::load(out, from);
      },
      name, kInjective);
}

te::Tensor cook_toom_conv3d(const te::Tensor& data, const te::Tensor& weight, const Array<PrimExpr>& padding,
                            const std::vector<int>& kernel_size, int tile, DataType out_dtype) {
  const int64_t* depth = as_int(weight->shape[0]);
  const bool tiles_depth = depth && *depth == tile + kernel_size[0] - 1 && kernel_size[0] == kernel_size[1];
  const CookToom filter = cook_toom(tile, kernel_size[1]);
  const int alpha = tile + kernel_size[1] - 1;
  const Array<PrimExpr>& s = data->shape;
  // Data with room for whole tiles; extents of the result, and how many tiles they have, from the depth on.
  Indices extents, tiles, before(5, PrimExpr(0)), after(5, PrimExpr(0));
  for (int i = 0; i < 3; ++i) {
    PrimExpr extent = s[i + 2] + padding[i] + padding[i + 3] - (kernel_size[i] - 1);
    extents.push_back(extent);
    const int step = i || tiles_depth ? tile : 1;
    tiles.push_back(floordiv(extent + (step - 1), step));
    before.set(i + 2, padding[i]);
    after.set(i + 2, padding[i + 3] + tiles[i] * step - extent);
  }
  te::Tensor padded = pad(data, before, after, make_zero(data->dtype));
  // (n, c, tile z, tile y, tile x, z, y, x): z is the position inside of a tile, or of the kernel
  const int depth_step = tiles_depth ? tile : 1;
  te::Tensor parts = compute(
      {s[0], s[1], tiles[0], tiles[1], tiles[2], weight->shape[0], alpha, alpha}, "ax",
      [&](const Indices& at) {
        return te::load(padded, {at[0], at[1], at[2] * depth_step + at[5], at[3] * tile + at[6], at[4] * tile + at[7]});
      },
      "winograd3d_tiles", kInjective);
  for (size_t axis = tiles_depth ? 5 : 6; axis < 8; ++axis)
    parts = along(parts, axis, filter.b, true, "winograd3d_data");
  IterVar c = te::reduce_axis(make_range(make_zero(s[1].dtype()), s[1]), "c");
  auto product = [&](const Indices& at, const PrimExpr& z) {
    PrimExpr d = te::load(parts, {at[0], c->var, at[2], at[3], at[4], z, at[6], at[7]});
    PrimExpr w = te::load(weight, {z, at[6], at[7], at[1], c->var});
    return tessera::cast(out_dtype, d) * tessera::cast(out_dtype, w);
  };
  IterVar z = te::reduce_axis(make_range(make_zero(weight->shape[0].dtype()), weight->shape[0]), "z");
  te::Tensor sums = compute(
      {s[0], weight->shape[3], tiles[0], tiles[1], tiles[2], tiles_depth ? weight->shape[0] : PrimExpr(1), alpha,
       alpha},
      "ax",
      [&](const Indices& at) {
        return tiles_depth ? te::sum(product(at, at[5]), {c}) : te::sum(product(at, z->var), {c, z});
      },
      "winograd3d_sums", "");
  for (size_t axis = tiles_depth ? 5 : 6; axis < 8; ++axis)
    sums = along(sums, axis, filter.a, true, "winograd3d_result");
  return compute(
      {s[0], weight->shape[3], extents[0], extents[1], extents[2]}, "ax",
      [&](const Indices& at) {
        Indices from{at[0], at[1]};
        for (int i = 0; i < 3; ++i) from.push_back(floordiv(at[i + 2], i ? tile : depth_step));
        for (int i = 0; i < 3; ++i) from.push_back(floormod(at[i + 2], i ? tile : depth_step));
        return te::load(sums, from);
      },
      "conv3d_winograd", kInjective);
}

}  // namespace tessera::topi
