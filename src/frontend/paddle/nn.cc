// Matmuls and norms.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

// ---- matmuls --------------------------------------------------------------------------------------------------------

/// The last two dimensions, swapped; a vector has only one.
Expr swapped(const LayerNode& in, const Expr& x, bool is_swapped) {
  const size_t rank = in.rank(x);
  if (!is_swapped || rank < 2) return x;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  std::swap(axes[rank - 1], axes[rank - 2]);
  return typed(transpose(x, int_array(axes)));
}

LayerConverter matmul(const char* swaps_x, const char* swaps_y) {
  return [=](LayerNode& in) {
    Expr out =
        matmul_like_numpy(in, swapped(in, in.slot("X"), in.flag(swaps_x)), swapped(in, in.slot("Y"), in.flag(swaps_y)));
    if (const double alpha = in.number("alpha", 1); alpha != 1)
      out = multiply(out, make_scalar(alpha, in.dtype(in.slot("X"))));
    return only(in, out);
  };
}
Exprs batch_matmul(LayerNode& in) { return only(in, matmul_like_numpy(in, in.slot("X"), in.slot("Y"))); }
Exprs matrix_by_vector(LayerNode& in) { return only(in, matmul_like_numpy(in, in.slot("X"), in.slot("Vec"))); }

/// The first dimensions of both make rows, the others columns.
Exprs multiplied(LayerNode& in) {
  Expr x = in.slot("X"), y = in.slot("Y");
  const auto rank_x = static_cast<int>(in.rank(x)), rank_y = static_cast<int>(in.rank(y));
  const auto rows_x = static_cast<int>(in.integer("x_num_col_dims", 1)),
             rows_y = static_cast<int>(in.integer("y_num_col_dims", 1));
  if (rows_x < 1 || rows_x >= rank_x || rows_y < 1 || rows_y >= rank_y)
    in.invalid("its numbers of dimensions do not fit");
  auto matrix = [&](const Expr& of, int rows, int rank) {
    Expr columns = rank - rows == 1 ? of : typed(merged(of, rows, rank));
    return rows == 1 ? columns : typed(merged(columns, 0, rows));
  };
  Expr out = typed(matmul_like_numpy(in, matrix(x, rows_x, rank_x), matrix(y, rows_y, rank_y)));
  if (rows_x == 1 && rank_y - rows_y == 1) return only(in, out);
  Array<Expr> shape;
  for (int i = 0; i < rows_x; ++i) shape.push_back(reshape_to(extent_at_run_time(in, x, i), {1}));
  for (int i = rows_y; i < rank_y; ++i) shape.push_back(reshape_to(extent_at_run_time(in, y, i), {1}));
  return only(in, apply(in, "Reshape", {out, typed(concatenate(shape, 0))}));
}
/// Of vectors, or of the rows of two matrices.
Exprs dot(LayerNode& in) {
  Expr x = in.slot("X");
  return only(in, sum(multiply(x, in.slot("Y")), int_array({static_cast<int64_t>(in.rank(x)) - 1})));
}
Exprs add_matmul(LayerNode& in) {
  Expr product = matmul_like_numpy(in, in.slot("X"), in.slot("Y")), start = in.slot("Input");
  const DataType dtype = in.dtype(start);
  return only(
      in, add(multiply(start, number_of(in, "Beta", 1, dtype)), multiply(product, number_of(in, "Alpha", 1, dtype))));
}

// ---- norms ----------------------------------------------------------------------------------------------------------

Expr or_ones(const LayerNode& in, const char* slot, const std::vector<int64_t>& shape, DataType dtype, double value) {
  return in.has_slot(slot) ? in.slot(slot) : typed(filled(value, shape, dtype));
}

Exprs batch_norm(LayerNode& in) {
  Expr x = in.slot("X"), mean = in.slot("Mean"), variance = in.slot("Variance");
  if (!in.flag("is_test") && !in.flag("use_global_stats"))
    in.unsupported(
        "the statistics of the batch, which training takes; save the program after eval() or clone(for_test=True)");
  const size_t rank = in.rank(x);
  const bool is_last = in.text("data_layout", "NCHW").back() == 'C' && rank > 2;
  const std::vector<int64_t> shape{in.static_shape(mean, "a batch norm")[0]};
  const DataType dtype = in.dtype(mean);
  Attrs attrs = make_attrs<BatchNormAttrs>([&](auto& to) {
    to.axis = is_last ? static_cast<int32_t>(rank) - 1 : 1;
    to.epsilon = in.number("epsilon", 1e-5);
  });
  Expr out =
      call_op("nn.batch_norm",
              {x, or_ones(in, "Scale", shape, dtype, 1), or_ones(in, "Bias", shape, dtype, 0), mean, variance}, attrs);
  return in.results({{"Y", {make_get_item(out, 0)}}, {"MeanOut", {mean}}, {"VarianceOut", {variance}}});
}

/// Over all dimensions from one on. Scale and bias have one dimension.
Exprs layer_norm(LayerNode& in) {
  Expr x = in.slot("X");
  const int axis = in.axis(in.integer("begin_norm_axis", 1), in.rank(x));
  const Array<PrimExpr> all = in.shape(x);
  std::vector<int64_t> shape;
  for (size_t i = static_cast<size_t>(axis); i < all.size(); ++i) {
    if (!as_int(all[i])) in.unsupported("a layer norm over dynamic extents");
    shape.push_back(*as_int(all[i]));
  }
  auto parameter = [&](const char* slot, double value) {
    if (!in.has_slot(slot)) return typed(filled(value, shape, in.dtype(x)));
    return shape.size() == 1 ? in.slot(slot) : typed(reshape_to(in.slot(slot), shape));
  };
  std::vector<onnx::Given> attributes{{"axis", axis}, {"epsilon", in.number("epsilon", 1e-5)}};
  return only(in, apply(in, "LayerNormalization", {x, parameter("Scale", 1), parameter("Bias", 0)}, attributes), "Y");
}

LayerConverter norm_of_channels(const char* op) {
  return [op](LayerNode& in) {
    const bool is_last = has_channels_last(in, "data_layout");
    Expr x = is_last ? channels_second(in, in.slot("X")) : in.slot("X");
    const int64_t* channels = in.rank(x) < 2 ? nullptr : as_int(in.shape(x)[1]);
    if (!channels) in.unsupported("a norm of an unknown number of channels");
    Expr scale = or_ones(in, "Scale", {*channels}, in.dtype(x), 1),
         bias = or_ones(in, "Bias", {*channels}, in.dtype(x), 0);
    std::vector<onnx::Given> attributes{{"epsilon", in.number("epsilon", 1e-5)}};
    if (in.fields().has("groups")) attributes.emplace_back("num_groups", in.integer("groups"));
    Expr out = typed(apply(in, op, {x, scale, bias}, attributes));
    return only(in, is_last ? channels_last(in, out) : out, "Y");
  };
}

}  // namespace

LayerRows nn_rows() {
  return {
      {"addmm", add_matmul},
      {"batch_norm", batch_norm},
      {"bmm", batch_matmul},
      {"dot", dot},
      {"group_norm", norm_of_channels("GroupNormalization")},
      {"instance_norm", norm_of_channels("InstanceNormalization")},
      {"layer_norm", layer_norm},
      {"matmul", matmul("transpose_X", "transpose_Y")},
      {"matmul_v2", matmul("trans_x", "trans_y")},
      {"mul", multiplied},
      {"mv", matrix_by_vector},
  };
}

}  // namespace tessera::paddle
