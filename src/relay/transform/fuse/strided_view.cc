#include "relay/transform/fuse/strided_view.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"

namespace tessera::relay {
namespace {

using Digits = std::vector<StridedView::Digit>;

int64_t extent_of(const Digits& digits) {
  int64_t out = 1;
  for (const auto& digit : digits) out *= digit.extent;
  return out;
}

/// The same elements in another shape: digits are split where an axis ends inside of one.
std::optional<StridedView> reshaped(const StridedView& view, const std::vector<int64_t>& shape) {
  Digits rest;
  for (const Digits& axis : view.axes)
    for (const auto& digit : axis)
      if (digit.extent != 1) rest.push_back(digit);
  StridedView out{.axes = std::vector<Digits>(shape.size()), .offset = view.offset};
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t left = shape[i];
    while (left > 1) {
      if (rest.empty()) return std::nullopt;
      StridedView::Digit& last = rest.back();
      if (left % last.extent == 0) {
        left /= last.extent;
        out.axes[i].insert(out.axes[i].begin(), last);
        rest.pop_back();
      } else if (last.extent % left == 0) {
        out.axes[i].insert(out.axes[i].begin(), {left, last.step});
        last = {last.extent / left, last.step * left};
        left = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return rest.empty() ? std::optional(out) : std::nullopt;
}

/// Digits that are one: those whose steps follow each other.
Digits merged(const Digits& digits) {
  Digits out;
  for (const auto& digit : digits) {
    if (digit.extent == 1) continue;
    if (!out.empty() && out.back().step == digit.step * digit.extent)
      out.back() = {out.back().extent * digit.extent, digit.step};
    else out.push_back(digit);
  }
  return out;
}

/// `count` elements of an axis from `begin` on.
bool slice_axis(StridedView* view, size_t axis, int64_t begin, int64_t count) {
  Digits& digits = view->axes[axis];
  if (begin == 0 && count == extent_of(digits)) return true;
  digits = merged(digits);
  if (begin < 0 || digits.size() != 1 || begin + count > digits[0].extent) return false;
  view->offset += begin * digits[0].step;
  digits[0].extent = count;
  return true;
}

size_t counted(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

std::optional<StridedView> transposed(const TransposeAttrs* attrs, const StridedView& view) {
  StridedView out{.offset = view.offset};
  const size_t rank = view.axes.size();
  if (!attrs->axes.defined() || attrs->axes.empty()) {
    out.axes.assign(view.axes.rbegin(), view.axes.rend());
    return out;
  }
  std::optional<std::vector<int64_t>> axes = fixed_ints(attrs->axes);
  if (!axes || axes->size() != rank) return std::nullopt;
  for (int64_t axis : *axes) out.axes.push_back(view.axes[counted(axis, rank)]);
  return out;
}

std::optional<StridedView> sliced(const Call* call, StridedView view) {
  auto* attrs = call->attrs.as<StridedSliceAttrs>();
  auto shape = fixed_shape(checked_type(Expr(call)));
  auto begin = attrs && attrs->begin.defined() ? fixed_ints(attrs->begin) : std::nullopt;
  if (!begin || !shape || call->args.size() != 1) return std::nullopt;
  if (attrs->strides.defined())
    for (const PrimExpr& stride : attrs->strides)
      if (!is_one(stride)) return std::nullopt;
  std::vector<int64_t> axes;
  if (attrs->axes.defined()) {
    auto given = fixed_ints(attrs->axes);
    if (!given) return std::nullopt;
    axes = *given;
  } else {
    for (size_t i = 0; i < begin->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < axes.size() && i < begin->size(); ++i) {
    const size_t axis = counted(axes[i], view.axes.size());
    const int64_t extent = extent_of(view.axes[axis]), first = (*begin)[i];
    if (!slice_axis(&view, axis, std::min(first < 0 ? first + extent : first, extent), (*shape)[axis]))
      return std::nullopt;
  }
  return view;
}

/// One index of an axis, which is gone after it.
std::optional<StridedView> taken(const Call* call, StridedView view) {
  auto* attrs = call->attrs.as<TakeAttrs>();
  const int64_t* given = attrs && attrs->axis ? as_int(attrs->axis) : nullptr;
  std::optional<double> index = scalar_value(call->args[1]);
  if (!given || !index || rank_of(call->args[1]) != 0 || attrs->batch_dims != 0) return std::nullopt;
  const size_t axis = counted(*given, view.axes.size());
  const int64_t extent = extent_of(view.axes[axis]);
  const auto at = static_cast<int64_t>(*index);
  if (!slice_axis(&view, axis, at < 0 ? at + extent : at, 1)) return std::nullopt;
  view.axes.erase(view.axes.begin() + static_cast<ptrdiff_t>(axis));
  return view;
}

/// An item of what nn.split makes: they follow each other along the axis.
std::optional<StridedView> item_of_split(const TupleGetItem* item, StridedView view) {
  auto* call = item->tuple.as<Call>();
  auto* attrs = call ? call->attrs.as<SplitAttrs>() : nullptr;
  auto* items = attrs ? checked_type(item->tuple).as<TupleType>() : nullptr;
  if (!items) return std::nullopt;
  const size_t axis = counted(attrs->axis, view.axes.size());
  int64_t begin = 0;
  for (int32_t i = 0; i < item->index; ++i) {
    auto shape = fixed_shape(items->fields_[static_cast<size_t>(i)]);
    if (!shape) return std::nullopt;
    begin += (*shape)[axis];
  }
  auto shape = fixed_shape(checked_type(Expr(item)));
  if (!shape || !slice_axis(&view, axis, begin, (*shape)[axis])) return std::nullopt;
  return view;
}

}  // namespace

std::optional<StridedView> whole_view(const Type& type) {
  auto shape = fixed_shape(type);
  if (!shape) return std::nullopt;
  StridedView out;
  int64_t step = 1;
  for (size_t i = shape->size(); i-- > 0; step *= (*shape)[i])
    out.axes.insert(out.axes.begin(), Digits{{(*shape)[i], step}});
  return out;
}

std::optional<StridedView> moved_view(const Expr& expr, const StridedView& view) {
  if (auto* item = expr.as<TupleGetItem>()) return item_of_split(item, view);
  auto* call = expr.as<Call>();
  if (!call) return std::nullopt;
  if (call->attrs.as<TransposeAttrs>()) return transposed(call->attrs.as<TransposeAttrs>(), view);
  if (op_name(call) == ops::take) return taken(call, view);
  if (call->attrs.as<StridedSliceAttrs>()) return sliced(call, view);
  auto shape = fixed_shape(checked_type(expr));
  if (call->args.size() != 1 || moves_of(call) != Moves::View || !shape) return std::nullopt;
  std::optional<StridedView> out = reshaped(view, *shape);
  if (!out) return std::nullopt;
  for (auto& axis : out->axes) axis = merged(axis);
  return out;
}

}  // namespace tessera::relay
