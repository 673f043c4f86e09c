// Boxes of which each that is chosen lowers the scores of those it overlaps, the more the more it does.

#include <algorithm>
#include <limits>

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/nms.h"
#include "ir/prim/ops.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

namespace {

const DataType kFloat = DataType::Float(32);

Expr number(double value) { return make_scalar(value, kFloat); }
Expr corner(const Expr& boxes, int i) { return take(boxes, make_constant(int_scalar(i, DataType::Int(64))), -1); }
Expr area_of(const Expr& boxes) {
  return multiply(subtract(corner(boxes, 2), corner(boxes, 0)), subtract(corner(boxes, 3), corner(boxes, 1)));
}

/// How much of both boxes together each of `boxes` shares with one; nothing where one of them is empty.
Expr overlaps(const Expr& boxes, const Expr& areas, const Expr& one) {
  auto side = [&](int from, int to) {
    Expr low = maximum(corner(boxes, from), corner(one, from)), high = minimum(corner(boxes, to), corner(one, to));
    return maximum(subtract(high, low), number(0));
  };
  Expr shared = multiply(side(0, 2), side(1, 3)), area = area_of(one);
  Expr is_empty =
      call_op("logical_or", {call_op("less_equal", {areas, number(0)}), call_op("less_equal", {area, number(0)})});
  Expr both = where(is_empty, number(1), subtract(add(areas, area), shared));
  return where(is_empty, number(0), divide(shared, both));
}

}  // namespace

SoftlyChosen soft_suppression(const NodeContext& in, const Expr& given, const Expr& scores, const SoftNms& nms) {
  const int64_t count = in.static_extent(scores, 0, "soft suppression");
  if (count > (1 << 24)) in.unsupported("soft suppression of " + std::to_string(count) + " boxes");
  Expr boxes = with_ordered_corners(cast_if_needed(in, given, kFloat), 1), areas = area_of(boxes);
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  const Expr indices = make_ints(numbers), gone = number(-std::numeric_limits<float>::infinity());
  auto goes_on = [&](const Expr& now) { return greater(reduce("max", now, nullptr), nms.score); };
  LoopBody body = [&](const Expr&, const Expr&, const std::vector<Expr>& states) {
    const Expr& now = states[0];
    Expr best =
        cast(call_op("argmax", {now}, make_attrs<ArgReduceAttrs>([](auto& attrs) { attrs.axis = int_array({0}); })),
             DataType::Int(64));
    Expr overlap = overlaps(boxes, areas, take(boxes, best, 0));
    Expr kept = exp(multiply(number(-0.5 / nms.sigma), multiply(overlap, overlap)));
    Expr weight = nms.iou.defined() ? where(greater(overlap, nms.iou), number(0), kept) : kept;
    Expr is_gone = call_op("logical_or", {equal(now, gone), equal(indices, best)});
    Expr next = where(is_gone, gone, multiply(now, weight));
    return LoopStep{goes_on(next), {next}, {cast(best, DataType::Int(32)), take(now, best, 0)}};
  };
  Expr first = cast_if_needed(in, scores, kFloat);
  Expr limit = make_constant(int_scalar(std::min(nms.most, count), DataType::Int(64)));
  const std::unordered_set<const Object*> outside{boxes.get(), areas.get(), nms.score.get(), nms.iou.get()};
  std::vector<Expr> out = recursive_loop(in, limit, goes_on(first), {first}, body, 2, outside);
  return {out[1], out[2]};
}

}  // namespace tessera::tensorflow
