#include "frontend/common/nms.h"

#include <cmath>
#include <limits>

#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "relay/attrs/search.h"
#include "relay/attrs/vision.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

namespace {

/// The next greater float: Relay suppresses from a threshold on, frameworks above it.
Expr just_above(const NodeContext& in, const Expr& x) {
  if (std::optional<double> known = in.constant_number(x))
    return make_scalar(std::nextafter(static_cast<float>(*known), std::numeric_limits<float>::infinity()),
                       DataType::Float(32));
  Expr next = add(x, multiply(call_op("abs", {x}), make_scalar(std::ldexp(1.5, -24), DataType::Float(32))));
  return maximum(next, make_scalar(std::ldexp(1.0, -126), DataType::Float(32)));
}

std::vector<int64_t> counted_to(int64_t end) {
  std::vector<int64_t> out(static_cast<size_t>(end));
  for (int64_t i = 0; i < end; ++i) out[static_cast<size_t>(i)] = i;
  return out;
}

/// Scores by falling value and where each stood, those that are not chosen at the end.
std::pair<Expr, Expr> by_score(const Expr& scores, const Expr& is_chosen, int64_t count) {
  Expr none = make_scalar(-std::numeric_limits<float>::infinity(), DataType::Float(32));
  Expr both =
      call_op("topk", {reshape_to(where(is_chosen, scores, none), {count})}, make_attrs<TopkAttrs>([&](auto& attrs) {
                attrs.k = PrimExpr(static_cast<int>(count));
                attrs.dtype = DataType::Int(64);
              }));
  return {make_get_item(both, 0), make_get_item(both, 1)};
}

/// Rows stand class by class: those of all classes by falling score.
Chosen sorted(const NodeContext& in, const Chosen& chosen) {
  const int64_t count = in.static_shape(chosen.scores, "the number of boxes")[0];
  auto [scores, order] = by_score(chosen.scores, less(make_ints(counted_to(count)), chosen.count), count);
  return {take(chosen.rows, order, 0), scores, chosen.count};
}

}  // namespace

Kept kept_of(const NodeContext& in, const Nms& nms) {
  const DataType wide = DataType::Float(32);
  Expr all =
      call_op("vision.all_class_non_max_suppression",
              {with_ordered_corners(cast_if_needed(in, nms.boxes, wide), 2), cast_if_needed(in, nms.scores, wide),
               make_scalar(static_cast<double>(std::min<int64_t>(nms.most, INT32_MAX)), DataType::Int(32)),
               just_above(in, nms.iou), nms.score},
              make_attrs<AllClassNonMaximumSuppressionAttrs>([](auto& attrs) { attrs.output_format = "tensorflow"; }));
  return {make_get_item(all, 0), make_get_item(all, 1), make_get_item(all, 2)};
}

Expr with_ordered_corners(const Expr& boxes, int axis) {
  Expr parts = split(boxes, 4, axis);
  auto part = [&](int i) { return make_get_item(parts, i); };
  return concatenate(
      {minimum(part(0), part(2)), minimum(part(1), part(3)), maximum(part(0), part(2)), maximum(part(1), part(3))},
      axis);
}

Expr just_below(const NodeContext& in, const Expr& x) {
  if (std::optional<double> known = in.constant_number(x))
    return make_scalar(std::nextafter(static_cast<float>(*known), -std::numeric_limits<float>::infinity()),
                       DataType::Float(32));
  return subtract(x, multiply(call_op("abs", {x}), make_scalar(std::ldexp(1.5, -24), DataType::Float(32))));
}

Chosen non_max_suppression(const NodeContext& in, const Nms& nms) {
  Kept kept = kept_of(in, {expand_dims(nms.boxes, 0), expand_dims(nms.scores, 0), nms.most, nms.iou, nms.score});
  auto of_image = [](const Expr& x) { return squeeze(x, int_array({0})); };
  Chosen out{of_image(kept.rows), of_image(kept.scores), of_image(kept.count)};
  const int64_t* classes = as_int(in.shape(nms.scores)[0]);
  return classes && *classes == 1 ? out : sorted(in, out);
}

Chosen non_max_suppression_by_class(const NodeContext& in, const Nms& nms) {
  const Ints shape = in.static_shape(nms.scores, "scores");
  const int64_t classes = shape[0], boxes = shape[1], count = classes * boxes;
  Kept kept = kept_of(in, {nms.boxes, expand_dims(nms.scores, 1), nms.most, nms.iou, nms.score});
  Expr is_chosen = less(make_ints(counted_to(boxes)), expand_dims(kept.count, 1));
  auto [scores, order] = by_score(kept.scores, is_chosen, count);
  Expr which = call_op("floor_divide", {order, make_scalar(static_cast<double>(boxes), DataType::Int(64))});
  Expr box = take(reshape_to(slice(kept.rows, 2, 1, 2), {count}), order, 0);
  return {stack({which, box}, 1), scores, reduce("sum", kept.count, int_array({0}), false)};
}

Expr first_rows(const NodeContext& in, const Expr& x, int64_t count, const Expr& valid) {
  const Array<PrimExpr> shape = in.shape(x);
  const int64_t* rows = as_int(shape[0]);
  std::vector<int64_t> before(shape.size(), 0), after(shape.size(), 0), positions;
  after[0] = rows ? std::max<int64_t>(count - *rows, 0) : count;
  Expr out = pad_with(x, before, after, 0);
  if (!rows || *rows > count) out = slice(out, 0, 0, count);
  for (int64_t i = 0; i < count; ++i) positions.push_back(i);
  Expr is_valid = less(make_ints(positions), cast_if_needed(in, valid, DataType::Int(64)));
  if (shape.size() > 1) is_valid = expand_dims(is_valid, 1, static_cast<int>(shape.size()) - 1);
  return where(is_valid, out, make_scalar(0, in.dtype(x)));
}

}  // namespace tessera::frontend
