// Gradients of slices: the gradient at its indices among zeros.

#include "topi/slice.h"

#include <limits>

#include "op/gradient/dynamic.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::make_ints;
using relay::zeros_like;

/// `grad` at its indices among zeros of the argument's shape.
Expr placed(const Call* call, const Expr& grad, const std::vector<topi::SliceAxis>& slices) {
  std::vector<int64_t> begin, end, strides;
  for (size_t i = 0; i < slices.size(); ++i) {
    int64_t size = known_extent(arg_type(call, 0), i);
    auto number = [](const PrimExpr& value) { return *as_int(value); };
    strides.push_back(number(slices[i].stride));
    begin.push_back(number(slices[i].begin));
    int64_t behind = begin.back() + number(slices[i].extent) * strides.back();
    end.push_back(behind < 0 ? -size - 1 : behind);  // before the first element
  }
  return call_op("strided_set",
                 {zeros_like(call->args[0]), grad, make_ints(begin), make_ints(end), make_ints(strides)});
}

/// The same where extents are known at run time: the slice is said again, its ends in numbers that mean the same for any
/// extent.
Expr placed_among_dynamic(const Call* call, const Expr& grad, const topi::SliceSpec& spec) {
  constexpr int64_t kEnd = std::numeric_limits<int32_t>::max();
  const int rank = rank_of(arg_type(call, 0));
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0), end(begin.size(), kEnd), strides(begin.size(), 1);
  for (size_t i = 0; i < spec.begin.size(); ++i) {
    auto axis = static_cast<size_t>(spec.axes.empty() ? static_cast<int>(i)
                                                      : normal_axis(constant_of(spec.axes[i], "an axis"), rank));
    begin[axis] = constant_of(spec.begin[i], "where a slice begins");
    if (i < spec.end.size()) end[axis] = constant_of(spec.end[i], "where a slice ends");
    if (spec.end_is_size) {
      int64_t behind = begin[axis] + end[axis];
      end[axis] = end[axis] < 0 || (begin[axis] < 0 && behind >= 0) ? kEnd : behind;
    } else if (!spec.strides.empty()) {
      strides[axis] = constant_of(spec.strides[std::min(i, spec.strides.size() - 1)], "the step of a slice");
    }
  }
  return placed_by(call->args[0], grad, make_ints(begin), make_ints(end), make_ints(strides));
}

Exprs strided_slice_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::StridedSliceAttrs>();
  auto list = [](const Array<PrimExpr>& given) { return given.defined() ? given : Array<PrimExpr>(); };
  topi::SliceSpec spec{attrs->begin, attrs->end, list(attrs->strides), list(attrs->axes), attrs->slice_mode == "size"};
  auto* type = arg_type(call, 0);
  if (!is_known(type)) return {placed_among_dynamic(call, grad, spec)};
  return {placed(call, grad, topi::slice_axes(type->shape, spec))};
}

Exprs slice_like_gradient(const Call* call, const Expr& grad) {
  auto* type = tensor_of(relay::checked_type(Expr(call)));
  if (!is_known(type) || !is_known(arg_type(call, 0))) {
    Expr zeros = make_ints(std::vector<int64_t>(type->shape.size(), 0)), ones = relay::ones_like(zeros);
    return {placed_by(call->args[0], grad, zeros, shape_vector_of(grad), ones), zeros_like(call->args[1])};
  }
  std::vector<topi::SliceAxis> slices;
  for (size_t i = 0; i < type->shape.size(); ++i)
    slices.push_back({PrimExpr(0), PrimExpr(1), make_const(DataType::Int(64), known_extent(type, i))});
  return {placed(call, grad, slices), zeros_like(call->args[1])};
}

}  // namespace

static void slice_gradients() {
  set_gradients({
      {"strided_slice", strided_slice_gradient},
      {"slice_like", slice_like_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily slice_gradient_family{slice_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op
