#include "frontend/common/detections.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/common/parts.h"
#include "relay/attrs/index.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

namespace {

const DataType kWhole = DataType::Int(32);

Expr whole(int64_t value) { return make_scalar(static_cast<double>(value), kWhole); }
Expr quotient(const Expr& x, int64_t by) { return call_op("floor_divide", {x, whole(by)}); }
Expr remainder(const Expr& x, int64_t by) { return call_op("floor_mod", {x, whole(by)}); }
Expr counted_to(int64_t end) {
  std::vector<int64_t> out(static_cast<size_t>(end));
  std::iota(out.begin(), out.end(), 0);
  return make_ints(out, kWhole);
}

/// The best `count` along the last axis: what they are and where they stood.
std::pair<Expr, Expr> best(const Expr& x, int64_t count) {
  Expr both = call_op("topk", {x}, make_attrs<TopkAttrs>([&](auto& attrs) {
                        attrs.k = PrimExpr(static_cast<int>(count));
                        attrs.dtype = kWhole;
                      }));
  return {make_get_item(both, 0), make_get_item(both, 1)};
}

}  // namespace

Detections detections_of(const NodeContext& in, const Detector& detector) {
  const Ints shape = in.static_shape(detector.scores, "the scores of a detector");
  const int64_t images = shape[0], classes = shape[1], given = shape[2], lists = images * classes;
  const int64_t each = detector.looked_at > 0 ? std::min(detector.looked_at, given) : given, of_image = classes * each;
  const int64_t most = detector.most > 0 ? std::min(detector.most, of_image) : of_image, rows = images * most;
  if (lists * each >= INT32_MAX) in.unsupported("so many boxes");

  // Each class of each image is a list of its own.
  Expr scores = typed(reshape_to(detector.scores, {lists, given}));
  Expr boxes = reshape_to(broadcast_to(detector.boxes, int_array({images, classes, given, 4})), {lists, given, 4});
  Expr from;  // where a box of a list stood; null: there
  if (each < given) {
    std::tie(scores, from) = best(scores, each);
    Expr everywhere = broadcast_to(expand_dims(from, 2), int_array({lists, each, 4}));
    boxes = call_op("gather", {boxes, everywhere}, make_attrs<GatherAttrs>([](auto& attrs) { attrs.axis = 1; }));
  }
  auto number = [](double value) { return make_scalar(value, DataType::Float(32)); };
  Expr areas = detector.in_pixels ? add(boxes, numbers_of({0, 0, 1, 1}, {4}, DataType::Float(32))) : boxes;
  Kept kept =
      kept_of(in, {typed(areas), typed(expand_dims(scores, 1)), each, number(detector.iou), number(detector.score)});

  // Of each image the best of what is left.
  Expr none = number(-std::numeric_limits<double>::infinity());
  Expr is_kept = less(counted_to(each), expand_dims(cast(kept.count, kWhole), 1));
  Expr left = reshape_to(where(is_kept, kept.scores, none), {images, of_image});
  auto [top, position] = best(left, most);
  Expr first = expand_dims(multiply(counted_to(images), whole(of_image)), 1);
  Expr is_valid = greater(top, none), behind = whole(INT32_MAX);
  Expr order = call_op("sort", {reshape_to(where(is_valid, add(position, first), behind), {rows})},
                       make_attrs<ArgsortAttrs>([](auto& attrs) { attrs.axis = 0; }));

  Detections out;
  out.valid = less(order, behind);
  Expr at = minimum(order, whole(lists * each - 1));  // of all lists, by falling score in each
  auto row = [&](const Expr& x) { return take(reshape_to(x, {lists * each}), at, 0); };
  Expr of_list = add(multiply(quotient(at, each), whole(each)), cast(row(slice(kept.rows, 2, 1, 2)), kWhole));
  out.image = quotient(at, of_image), out.of_class = remainder(quotient(at, each), classes);
  out.box = from.defined() ? take(reshape_to(from, {lists * each}), of_list, 0) : remainder(of_list, each);
  out.scores = row(kept.scores);
  out.corners = take(reshape_to(boxes, {lists * each, 4}), of_list, 0);
  return out;
}

}  // namespace tessera::frontend
