// What reads and writes by indices. Like Paddle, an index outside of its axis is an error.

#include "relay/attrs/index.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// Indices of rows may stand in a column.
Expr as_row(const LayerNode& in, const Expr& indices) {
  return in.rank(indices) == 2 ? typed(reshape_to(indices, {-1})) : indices;
}
Exprs gathered(LayerNode& in) {
  const int64_t axis = known_int(in, "axis", 0, {"Axis"});
  return only(in, apply(in, "Gather", {in.slot("X"), as_row(in, in.slot("Index"))}, {{"axis", axis}}));
}
Exprs selected(LayerNode& in) {
  return only(in, apply(in, "Gather", {in.slot("X"), in.slot("Index")}, {{"axis", in.integer("dim", 0)}}));
}
Exprs gathered_nd(LayerNode& in) {
  Expr indices = cast_if_needed(in, in.slot("Index"), DataType::Int(64));
  return only(in, apply(in, "GatherND", {in.slot("X"), indices}));
}
Exprs taken_along(LayerNode& in) {
  return only(in, apply(in, "GatherElements", {in.slot("Input"), in.slot("Index")}, {{"axis", in.integer("Axis", 0)}}),
              "Result");
}

/// Rows of a table; that of `padding_idx` counts as zeros.
Exprs embedded(LayerNode& in) {
  Expr ids = in.slot("Ids"), table = in.slot("W");
  Expr out = apply(in, "Gather", {table, ids}, {{"axis", 0}});
  const int64_t padding = in.integer("padding_idx", -1);
  if (padding == -1) return only(in, out);
  Expr is_padding =
      equal(expand_dims(ids, static_cast<int>(in.rank(ids))), make_scalar(static_cast<double>(padding), in.dtype(ids)));
  return only(in, where(is_padding, make_scalar(0, in.dtype(table)), out));
}

/// Rows are replaced; or they begin at zero, and all updates are added.
Exprs scattered(LayerNode& in) {
  Expr x = in.slot("X"), updates = in.slot("Updates");
  Expr ids = cast_if_needed(in, as_row(in, in.slot("Ids")), DataType::Int(64));
  Expr indices = typed(expand_dims(ids, static_cast<int>(in.rank(ids))));
  if (in.flag("overwrite", true)) return only(in, apply(in, "ScatterND", {x, indices, updates}));
  Expr cleared = typed(apply(in, "ScatterND", {x, indices, typed(zeros_like(updates))}));
  return only(in, apply(in, "ScatterND", {cleared, indices, updates}, {{"reduction", "add"}}));
}
Exprs scattered_nd(LayerNode& in) {
  Expr indices = cast_if_needed(in, in.slot("Index"), DataType::Int(64));
  return only(in, apply(in, "ScatterND", {in.slot("X"), indices, in.slot("Updates")}, {{"reduction", "add"}}));
}

Exprs one_hot(LayerNode& in) {
  const int64_t depth = known_int(in, "depth", 0, {"depth_tensor"});
  constexpr int64_t kMaxDepth = 1 << 28;
  if (depth < 1 || depth > kMaxDepth) in.invalid("a depth of " + std::to_string(depth));
  const DataType dtype = type_in(in, "dtype").value_or(DataType::Float(32));
  return only(in, call_op("one_hot", {in.slot("X"), make_scalar(1, dtype), make_scalar(0, dtype)},
                          make_attrs<OneHotAttrs>([&](auto& to) {
                            to.depth = static_cast<int32_t>(depth);
                            to.dtype = dtype;
                          })));
}
/// The indices of all elements that are not zero, a row each.
Exprs not_zero(LayerNode& in) { return only(in, transpose(typed(apply(in, "NonZero", {in.slot("Condition")})))); }

}  // namespace

LayerRows index_rows() {
  return {
      {"gather", gathered},
      {"gather_nd", gathered_nd},
      {"index_select", selected},
      {"lookup_table_v2", embedded},
      {"one_hot_v2", one_hot},
      {"scatter", scattered},
      {"scatter_nd_add", scattered_nd},
      {"take_along_axis", taken_along},
      {"where_index", not_zero},
  };
}

}  // namespace tessera::paddle
