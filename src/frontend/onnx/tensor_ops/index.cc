// Operators that choose or place elements by index, and sorting.

#include "relay/attrs/index.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "ir/prim/ops.h"
#include "relay/attrs/search.h"
#include "relay/attrs/signal.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Values gather(Operation& in) {
  return {checked_take(in, in[0], in[1], in.axis(in.integer("axis", 0), in.rank(in[0])))};
}

Values gather_elements(Operation& in) {
  int axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
  CheckedIndices indices = checked_indices(in, in[1], in[0], axis);
  return {call_op("gather", {in[0], indices.indices}, make_attrs<GatherAttrs>([&](auto& attrs) {
                    attrs.axis = PrimExpr(axis);
                    attrs.checked_as = indices.checked_as;
                  }))};
}

/// Index tuples stand in the last dimension; Relay wants them in the first.
Expr tuples_first(Operation& in, const Expr& indices) {
  size_t rank = in.rank(indices);
  std::vector<int64_t> axes{static_cast<int64_t>(rank) - 1};
  for (size_t i = 0; i + 1 < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return rank > 1 ? transpose(indices, int_array(axes)) : indices;
}

/// Index tuples (..., k) name dimensions of the data from `first` on.
void check_tuples(Operation& in, const Expr& indices, const Expr& data, size_t first) {
  if (in.rank(indices) == 0 || first > in.rank(data))
    in.invalid("the last dimension of the indices does not fit the data");
  auto* length = in.shape(indices)[in.rank(indices) - 1].as<IntImm>();
  if (!length) in.unsupported("index tuples of unknown length");
  if (length->value < 0 || static_cast<size_t>(length->value) > in.rank(data) - first)
    in.invalid("index tuples that are too long");
}

Values gather_nd(Operation& in) {
  auto batch = static_cast<int32_t>(in.integer("batch_dims", 0));
  check_tuples(in, in[1], in[0], static_cast<size_t>(batch));
  return {call_op("gather_nd", {in[0], tuples_first(in, in[1])}, make_attrs<GatherNDAttrs>([&](auto& attrs) {
                    attrs.batch_dims = batch;
                    attrs.checked_as = run_time_name(in);
                  }))};
}

Values one_hot(Operation& in) {
  std::optional<std::vector<int64_t>> depth = in.constant_ints(in[1]);
  if (depth && depth->size() != 1) in.invalid("the depth is one number");
  if (depth && ((*depth)[0] < 0 || (*depth)[0] > INT32_MAX)) in.invalid("the depth is " + std::to_string((*depth)[0]));
  DataType out = in.dtype(in[2]), dtype = in.dtype(in[0]);
  size_t rank = in.rank(in[0]) + 1;
  int axis = in.axis(in.integer("axis", -1), rank);
  Expr indices = dtype.code == DataType::kInt ? in[0] : cast(in[0], DataType::Int(64));
  dtype = in.dtype(indices);
  Expr count =
      depth ? make_scalar(double((*depth)[0]), dtype) : cast_if_needed(in, reshape(in[1], Array<PrimExpr>{}), dtype);
  indices = where(less(indices, make_scalar(0, dtype)), add(indices, count), indices);
  Expr pair = split(in[2], 2, 0);
  auto part = [&](int i) { return reshape(make_get_item(pair, i), Array<PrimExpr>{}); };
  Array<Expr> args{indices, part(1), part(0)};
  if (!depth) args.push_back(cast_if_needed(in, count, DataType::Int(64)));
  return {call_op(depth ? "one_hot" : "dyn.one_hot", args, make_attrs<OneHotAttrs>([&](auto& attrs) {
                    if (depth) attrs.depth = static_cast<int32_t>((*depth)[0]);
                    attrs.axis = axis;
                    attrs.dtype = out;
                  }))};
}

Values scatter_elements(Operation& in) {
  int axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
  std::string how = in.text("reduction", "none");
  auto along = [&](auto& attrs) {
    attrs.axis = axis;
    attrs.checked_as = run_time_name(in);
  };
  if (how == "none") return {call_op("scatter", {in[0], in[1], in[2]}, make_attrs<ScatterAttrs>(along))};
  if (how == "add") return {call_op("scatter_add", {in[0], in[1], in[2]}, make_attrs<ScatterAddAttrs>(along))};
  Expr indices = in[1];
  // As tuples: every dimension but `axis` keeps the index of the update.
  const int rank = static_cast<int>(in.rank(indices));
  DataType dtype = in.dtype(indices);
  Array<Expr> parts;
  for (int i = 0; i < rank; ++i) {
    if (i == axis) {
      parts.push_back(indices);
      continue;
    }
    Expr own = cast_if_needed(in, positions_along(in, indices, i), dtype);
    parts.push_back(broadcast_to_like(i + 1 < rank ? expand_dims(own, 1, rank - i - 1) : own, indices));
  }
  if (how != "mul" && how != "min" && how != "max") in.unsupported("the reduction " + how);
  return {call_op("scatter_nd", {in[0], stack(parts, 0), in[2]}, make_attrs<ScatterNDAttrs>([&](auto& attrs) {
                    attrs.mode = how;
                    attrs.checked_as = run_time_name(in);
                  }))};
}

Values scatter_nd(Operation& in) {
  std::string how = in.text("reduction", "none");
  check_tuples(in, in[1], in[0], 0);
  return {call_op("scatter_nd", {in[0], tuples_first(in, in[1]), in[2]}, make_attrs<ScatterNDAttrs>([&](auto& attrs) {
                    attrs.mode = how == "none" ? "update" : how;
                    attrs.checked_as = run_time_name(in);
                  }))};
}

Values top_k(Operation& in) {
  int axis = in.axis(in.integer("axis", -1), in.rank(in[0]));
  bool largest = in.integer("largest", 1) != 0;
  auto fill = [&](TopkAttrs& attrs) {
    attrs.axis = axis;
    attrs.ret_type = "both";
    attrs.is_ascend = !largest;
    attrs.dtype = DataType::Int(64);
  };
  std::optional<std::vector<int64_t>> k;
  if (in.has_attribute("k")) k = {in.integer("k")};
  else k = in.constant_ints(in[1]);
  Expr out;
  if (k && k->size() == 1 && (*k)[0] != 0) {
    if ((*k)[0] < 0 || (*k)[0] > INT32_MAX) in.invalid("k is " + std::to_string((*k)[0]));
    out = call_op("topk", {in[0]}, make_attrs<TopkAttrs>([&](auto& attrs) {
                    fill(attrs);
                    attrs.k = int_imm(DataType::Int(32), (*k)[0]);
                  }));
  } else {  // also for none, where Relay's topk gives all
    Expr count = in.has_attribute("k") ? make_constant(int_scalar(0, DataType::Int(64))) : in[1];
    out = call_op("dyn.topk", {in[0], reshape(count, Array<PrimExpr>{})}, make_attrs<TopkAttrs>([&](auto& attrs) {
                    fill(attrs);
                    attrs.k = PrimExpr(0);
                  }));
  }
  return {make_get_item(out, 0), make_get_item(out, 1)};
}

Values scan(const char* op, Operation& in) {
  Ints given = in.needed_ints(in[1], "axis");
  if (given.size() != 1) in.invalid("the axis is one number");
  int axis = in.axis(given[0], in.rank(in[0]));
  bool exclusive = in.integer("exclusive", 0) != 0, backwards = in.integer("reverse", 0) != 0;
  auto reversed = [&](Expr x) {
    return backwards
               ? call_op("reverse", {x}, make_attrs<ReverseAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }))
               : x;
  };
  return {reversed(call_op(op, {reversed(in[0])}, make_attrs<ScanopAttrs>([&](auto& attrs) {
                             attrs.axis = PrimExpr(axis);
                             attrs.exclusive = bool_imm(exclusive);
                           })))};
}
Values cumulative_sum(Operation& in) { return scan("cumsum", in); }
Values cumulative_product(Operation& in) { return scan("cumprod", in); }

/// The indices of elements that are not zero, one column each.
Values non_zero(Operation& in) {
  Expr x = in.rank(in[0]) == 0 ? reshape(in[0], int_array({1})) : in[0];
  Expr is_set = call_op("not_equal", {x, make_scalar(0, in.dtype(x))});
  return {transpose(cast(call_op("argwhere", {is_set}), DataType::Int(64)), int_array({1, 0}))};
}

Values compress(Operation& in) {
  Expr data = in[0];
  int axis = 0;
  if (in.has_attribute("axis")) axis = in.axis(in.integer("axis"), in.rank(data));
  else data = reshape(data, int_array({-1}));
  std::optional<std::vector<int64_t>> keeps = in.constant_ints(in[1]);
  Expr indices;
  if (keeps) {
    std::vector<int64_t> kept;
    for (size_t i = 0; i < keeps->size(); ++i)
      if ((*keeps)[i]) kept.push_back(static_cast<int64_t>(i));
    indices = make_ints(kept);
  } else {
    indices = squeeze(call_op("argwhere", {in[1]}), int_array({1}));
  }
  return {call_op("take", {data, indices}, make_attrs<TakeAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }))};
}

/// Elements, or slices along an axis, that differ; their first indices, where each went, and how often each is there.
Values unique(Operation& in) {
  Expr x = in[0], rows;
  bool is_flat = !in.has_attribute("axis");
  int axis = is_flat ? 0 : in.axis(in.integer("axis"), in.rank(x));
  if (is_flat) {
    x = reshape(x, int_array({-1}));
    rows = expand_dims(x, 1);
  } else {
    std::vector<int64_t> order{axis};
    for (size_t i = 0; i < in.rank(x); ++i)
      if (static_cast<int>(i) != axis) order.push_back(static_cast<int64_t>(i));
    auto* count = in.shape(x)[static_cast<size_t>(axis)].as<IntImm>();
    if (!count) in.unsupported("slices along an axis of unknown extent");
    rows = reshape(transpose(x, int_array(order)), int_array({count->value, -1}));
  }
  bool is_sorted = in.integer("sorted", 1) != 0;
  Expr all =
      call_op("unique_rows", {rows}, make_attrs<UniqueRowsAttrs>([&](auto& attrs) { attrs.sorted = is_sorted; }));
  auto known = [&](int i) {  // without what is behind the last
    return call_op("dyn.strided_slice", {make_get_item(all, i), make_ints({0}), make_get_item(all, 3), make_ints({1})},
                   make_attrs<StridedSliceAttrs>([](auto& attrs) { attrs.slice_mode = "end"; }));
  };
  Expr first = known(0);
  Expr out = call_op("take", {x, first}, make_attrs<TakeAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }));
  return {out, first, make_get_item(all, 1), known(2)};
}

/// A cache with new elements written along an axis, from a position of its own in each sample on.
Values tensor_scatter(Operation& in) {
  Expr cache = in[0], update = in[1];
  size_t rank = in.rank(cache);
  int axis = in.axis(in.integer("axis", -2), rank);
  std::string mode = in.text("mode", "linear");
  if (mode != "linear" && mode != "circular") in.invalid("the mode is linear or circular");
  if (axis == 0) in.invalid("the axis is that of the batch");
  auto *size = in.shape(cache)[static_cast<size_t>(axis)].as<IntImm>(),
       *count = in.shape(update)[static_cast<size_t>(axis)].as<IntImm>();
  if (!size || !count) in.unsupported("an unknown extent along the axis");
  std::vector<int64_t> steps;
  for (int64_t i = 0; i < count->value; ++i) steps.push_back(i);
  Expr indices = make_ints(steps);
  int behind = static_cast<int>(rank) - axis - 1;
  if (behind) indices = expand_dims(indices, 1, behind);
  if (in.has(2)) {
    Expr begins = cast(in[2], DataType::Int(64));
    indices = add(expand_dims(begins, 1, static_cast<int>(rank) - 1), indices);
  }
  if (mode == "circular") indices = call_op("floor_mod", {indices, make_ints({size->value})});
  return {call_op("scatter", {cache, broadcast_to_like(indices, update), update},
                  make_attrs<ScatterAttrs>([&](auto& attrs) {
                    attrs.axis = axis;
                    attrs.checked_as = run_time_name(in);
                  }))};
}

}  // namespace

Rows index_rows() {
  return {
      {"Compress", 9, compress},
      {"CumProd", 26, cumulative_product},
      {"CumSum", 11, cumulative_sum},
      {"Gather", 1, gather},
      {"GatherElements", 11, gather_elements},
      {"GatherND", 11, gather_nd},
      {"NonZero", 9, non_zero},
      {"OneHot", 9, one_hot},
      {"Scatter", 9, scatter_elements},
      {"ScatterElements", 11, scatter_elements},
      {"ScatterND", 11, scatter_nd},
      {"TensorScatter", 24, tensor_scatter},
      {"TopK", 1, top_k},
      {"Unique", 11, unique},
  };
}

}  // namespace tessera::onnx
