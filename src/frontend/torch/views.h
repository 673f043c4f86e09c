#pragma once
// Parts of tensors that in-place operators change together with the whole, and where a whole lies in memory so that a copy is a copy.

#include "frontend/torch/scope.h"

namespace tessera::torch {

/// Elements [begin, end) of an axis in steps of `step`; bounds below 0 count from its end, an end of kToTheEnd is beyond any.
struct Range {
  static constexpr int64_t kToTheEnd = INT32_MAX;
  int64_t begin = 0, end = kToTheEnd, step = 1;
};
Value range_of(Operation& in, const Value& base, int axis, const Range& range);
/// One element of an axis, which goes away.
Value element_of(Operation& in, const Value& base, int axis, int64_t index);
/// The same where a run decides the index, a number without dimensions that counts from the end where it is negative.
Value element_at_run_time(Operation& in, const Value& base, int axis, const Expr& index);
/// And elements [begin, end) in steps, each a tensor of one integer.
Value range_at_run_time(Operation& in, const Value& base, int axis, const Expr& begin, const Expr& end, int64_t step);
/// All elements of an axis of fixed extent, each without it.
std::vector<Value> elements_of(Operation& in, const Value& base, int axis, const char* what);
/// `base` with a range of an axis replaced.
Expr with_range(const NodeContext& in, const Expr& base, const Expr& value, int axis, const Range& range);

// ---- strides: nothing where extents or the way from the whole are not known, and where the program changes nothing --

std::optional<Ints> strides_of(const Operation& in, const Value& value);
/// Of the same elements in another shape; nothing where they must be copied for it.
std::optional<Ints> strides_in_shape(const Ints& shape, const Ints& strides, const Ints& wanted);
/// False where PyTorch copies to make it contiguous; true also where that is not known.
bool is_contiguous(const Operation& in, const Value& value);

}  // namespace tessera::torch
