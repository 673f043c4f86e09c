// Operators that choose or place elements by index.

#include "relay/attrs/index.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "frontend/tensorflow/shapes.h"
#include "ir/prim/ops.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr gathered(Operation& in, int axis, int batch_dims) {
  return call_op("take", {in[0], in[1]}, make_attrs<TakeAttrs>([&](auto& attrs) {
                   attrs.axis = PrimExpr(axis);
                   attrs.batch_dims = batch_dims;
                 }));
}

Values gather_op(Operation& in) {
  const size_t rank = in.rank(in[0]);
  const int64_t given = in.size() > 2 ? in.ints(2, "the axis")[0] : in.integer("axis", 0);
  const int axis = in.axis(given, rank);
  int64_t batch = in.integer("batch_dims", 0);
  if (batch < 0) batch += static_cast<int64_t>(in.rank(in[1]));
  if (batch < 0 || batch > axis || batch > static_cast<int64_t>(in.rank(in[1])))
    in.invalid("batch_dims does not fit axis and indices");
  return {gathered(in, axis, static_cast<int>(batch))};
}

Expr tuples_first(Operation& in, const Expr& indices) {
  const size_t rank = in.rank(indices);
  if (rank < 2) return indices;
  std::vector<int64_t> axes{static_cast<int64_t>(rank) - 1};
  for (size_t i = 0; i + 1 < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return transpose(indices, int_array(axes));
}

int64_t tuple_length(Operation& in, const Expr& indices) {
  const size_t rank = in.rank(indices);
  const int64_t* length = rank ? as_int(in.shape(indices)[rank - 1]) : nullptr;
  if (!length) in.unsupported("index tuples of unknown length");
  return *length;
}

Values gather_nd(Operation& in) {
  const int64_t batch = in.integer("batch_dims", 0);
  if (batch < 0 || tuple_length(in, in[1]) + batch > static_cast<int64_t>(in.rank(in[0])))
    in.invalid("index tuples that are too long");
  return {call_op("gather_nd", {in[0], tuples_first(in, in[1])},
                  make_attrs<GatherNDAttrs>([&](auto& attrs) { attrs.batch_dims = static_cast<int32_t>(batch); }))};
}

Expr scattered(Operation& in, const Expr& data, const Expr& indices, const Expr& updates, const char* mode) {
  if (tuple_length(in, indices) > static_cast<int64_t>(in.rank(data))) in.invalid("index tuples that are too long");
  return call_op("scatter_nd", {data, tuples_first(in, indices), updates},
                 make_attrs<ScatterNDAttrs>([&](auto& attrs) { attrs.mode = mode; }));
}

/// Inputs: indices, updates, shape. What is named twice is summed.
Values scatter_nd_op(Operation& in) {
  return {scattered(in, full_of(in, make_scalar(0, in.dtype(in[1])), in[2]), in[0], in[1], "add")};
}
Converter tensor_scatter(const char* mode) {
  return [mode](Operation& in) { return Values{scattered(in, in[0], in[1], in[2], mode)}; };
}

Values one_hot_op(Operation& in) {
  std::optional<std::vector<int64_t>> depth = in.constant_ints(in[1]);
  const size_t rank = in.rank(in[0]) + 1;
  const int axis = in.axis(in.integer("axis", -1), rank);
  if (depth && (depth->size() != 1 || (*depth)[0] < 0 || (*depth)[0] > INT32_MAX)) in.invalid("the depth of a one-hot");
  Expr indices = in.dtype(in[0]).code == DataType::kInt ? in[0] : cast(in[0], DataType::Int(64));
  Array<Expr> args{indices, in.scalar(2), in.scalar(3)};
  if (!depth) args.push_back(cast_if_needed(in, in.scalar(1), DataType::Int(64)));
  return {call_op(depth ? "one_hot" : "dyn.one_hot", args, make_attrs<OneHotAttrs>([&](auto& attrs) {
                    if (depth) attrs.depth = static_cast<int32_t>((*depth)[0]);
                    attrs.axis = axis;
                    attrs.dtype = in.dtype(in[2]);
                  }))};
}

/// Where the elements are that are not zero, (count, rank).
Values where_op(Operation& in) {
  if (in.size() == 3) return convert_as("Select", in);
  return {cast(call_op("argwhere", {in[0]}), DataType::Int(64))};
}

Values invert_permutation(Operation& in) { return {call_op("invert_permutation", {in[0]})}; }

Values unravel_index(Operation& in) {
  return {call_op("unravel_index", {in[0], cast_if_needed(in, in[1], in.dtype(in[0]))})};
}

/// The first `count` of a vector.
Expr first_of(Operation& in, const Expr& x, const Expr& count) {
  Expr end = reshape(cast_if_needed(in, count, DataType::Int(64)), int_array({1}));
  return call_op("dyn.strided_slice", {x, make_ints({0}), end, make_ints({1})},
                 make_attrs<StridedSliceAttrs>([](auto&) {}));
}

/// Distinct elements in the order of their first appearance, which one each element is, and how often each is there.
Values unique_op(Operation& in) {
  const bool counts = in.name() == "UniqueWithCounts" || in.name() == "UniqueWithCountsV2";
  if (in.rank(in[0]) != 1) in.unsupported("distinct elements of more than one dimension");
  Expr all = call_op("unique", {in[0]}, make_attrs<UniqueAttrs>([&](auto& attrs) {
                       attrs.sorted = false;
                       attrs.return_counts = counts;
                     }));
  Expr count = make_get_item(all, 3);
  const DataType out = in.type("out_idx", DataType::Int(32));
  Values values{first_of(in, make_get_item(all, 0), count), cast_if_needed(in, make_get_item(all, 2), out)};
  if (counts) values.push_back(cast_if_needed(in, first_of(in, make_get_item(all, 4), count), out));
  return values;
}

/// Inputs: indices, the shape, values, what is elsewhere.
Values sparse_to_dense(Operation& in) {
  Expr indices = in[0], values = in[2];
  const size_t rank = in.rank(indices);
  if (rank == 0) indices = reshape(indices, int_array({1, 1}));
  if (rank == 1) indices = expand_dims(indices, 1);
  Expr start = full_of(in, in.has(3) ? in.scalar(3) : make_scalar(0, in.dtype(values)), in[1]);
  if (in.rank(values) == 0) {
    Array<PrimExpr> shape = in.shape(indices);
    values = as_int(shape[0])
                 ? broadcast_to(values, Array<PrimExpr>{shape[0]})
                 : add(values,
                       cast(multiply(positions_along(in, indices, 0), make_constant(int_scalar(0, DataType::Int(64)))),
                            in.dtype(values)));
  }
  return {scattered(in, start, indices, values, "update")};
}

Values matrix_set_diag(Operation& in) {
  const std::string align = in.text("align", "RIGHT_LEFT");
  Ints k = in.has(2) ? in.ints(2, "the diagonals") : Ints{0};
  return {call_op("matrix_set_diag", {in[0], in[1]}, make_attrs<MatrixSetDiagAttrs>([&](auto& attrs) {
                    attrs.k1 = static_cast<int32_t>(k[0]);
                    attrs.k2 = static_cast<int32_t>(k.back());
                    attrs.super_diag_right_align = align.starts_with("RIGHT");
                    attrs.sub_diag_right_align = align.ends_with("RIGHT");
                  }))};
}

/// The elements between the diagonals `below` under the main one and `above` over it.
Values matrix_band_part(Operation& in) {
  Ints below = in.ints(1, "the number of diagonals"), above = in.ints(2, "the number of diagonals");
  Expr out = in[0];
  auto part = [&](const Expr& x, int64_t k, bool upper) {
    return call_op("trilu", {x, make_constant(int_scalar(k, DataType::Int(64)))},
                   make_attrs<TriluAttrs>([&](auto& attrs) { attrs.upper = upper; }));
  };
  if (below[0] >= 0) out = part(out, -below[0], true);
  if (above[0] >= 0) out = part(out, above[0], false);
  return {out};
}

Converter bincount(bool has_matrix) {
  return [has_matrix](Operation& in) {
    const int64_t size = in.ints(1, "the number of bins")[0];
    if (size < 0 || size > INT32_MAX) in.invalid(std::to_string(size) + " bins");
    const bool has_weights = in.has(2) && in.fixed_shape(in[2]) && product_of(*in.fixed_shape(in[2])) > 0;
    const DataType out = in.type("T", in.has(2) ? in.dtype(in[2]) : DataType::Int(32));
    Expr data = in[0];
    const bool is_matrix = has_matrix && in.rank(data) == 2;
    if (!is_matrix && in.rank(data) != 1) data = reshape(data, int_array({-1}));
    Expr hot = call_op("one_hot", {cast(data, DataType::Int(32)), make_scalar(1, out), make_scalar(0, out)},
                       make_attrs<OneHotAttrs>([&](auto& attrs) {
                         attrs.depth = static_cast<int32_t>(size);
                         attrs.axis = -1;
                         attrs.dtype = out;
                       }));
    if (in.flag("binary_output")) return Values{reduce("max", hot, int_array({is_matrix ? 1 : 0}))};
    if (has_weights) {
      Expr weights = is_matrix ? in[2] : reshape(in[2], int_array({-1}));
      hot = multiply(hot, expand_dims(weights, is_matrix ? 2 : 1));
    }
    return Values{sum(hot, int_array({is_matrix ? 1 : 0}))};
  };
}

/// Positions of values in sorted rows.
Converter search(bool right) {
  return [right](Operation& in) {
    return Values{call_op("searchsorted", {in[0], in[1]}, make_attrs<SearchSortedAttrs>([&](auto& attrs) {
                            attrs.right = right;
                            attrs.dtype = in.type("out_type", DataType::Int(32));
                          }))};
  };
}

}  // namespace

Rows index_rows() {
  return {
      {"Bincount", bincount(false)},
      {"DenseBincount", bincount(true)},
      {"Gather", gather_op},
      {"GatherNd", gather_nd},
      {"GatherV2", gather_op},
      {"InvertPermutation", invert_permutation},
      {"LowerBound", search(false)},
      {"MatrixBandPart", matrix_band_part},
      {"MatrixSetDiag", matrix_set_diag},
      {"MatrixSetDiagV2", matrix_set_diag},
      {"MatrixSetDiagV3", matrix_set_diag},
      {"OneHot", one_hot_op},
      {"ResourceGather",
       [](Operation& in) {
         Operation of_value = in.as("Gather", {in.importer().read_variable(in, in.value(0).resource), in.value(1)});
         return gather_op(of_value);
       }},
      {"ScatterNd", scatter_nd_op},
      {"SparseToDense", sparse_to_dense},
      {"TensorScatterAdd", tensor_scatter("add")},
      {"TensorScatterUpdate", tensor_scatter("update")},
      {"Unique", unique_op, {"y", "idx"}},
      {"UniqueWithCounts", unique_op, {"y", "idx", "count"}},
      {"UnravelIndex", unravel_index},
      {"UpperBound", search(true)},
      {"Where", where_op},
  };
}

}  // namespace tessera::tensorflow
