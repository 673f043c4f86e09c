#pragma once
// Reductions along rows that lie together in memory: by vectors of partial results, and what they are used for.

#include <cstdint>

#include "ir/target/target.h"
#include "te/schedule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// How many lanes a vector of the last axis of `x` has; 0 where rows are known to be too short, or of a type
/// that is not worth it: others than floats, and int32 where that is asked for. Extents may be dynamic, also of rows.
int64_t row_lanes(const te::Tensor& x, const Machine& machine, bool takes_int32 = false);

/// What is decided about reductions of rows.
struct RowsKnobsNode : Object {
  int32_t vectors = 4;  // of partial results of a row, at most; long rows have more than one
  static constexpr NodeInfo info{"topi.cpu.RowsKnobs", &Object::info};
  static void fields(auto f) { f("vectors", &RowsKnobsNode::vectors); }
};
using RowsKnobs = Ref<RowsKnobsNode>;

enum class RowKind { Sum, Max, Min };
/// The reduction of the last axis, which the result lacks. Partial results, of one or several vectors, are combined
/// in pairs: how many there are, at most `widest`, depends on the length of a row alone.
///   parts[..., lane] = over k: x[..., k * width + lane];  halves[..., l] = parts[..., l] and parts[..., l + width / 2]; ...
te::Tensor reduce_rows(const te::Tensor& x, RowKind kind, int64_t lanes, int64_t widest = INT64_MAX);
/// The same over all axes but the first `left`: along the last by vectors, one after the other of those between.
te::Tensor reduce_blocks(const te::Tensor& x, RowKind kind, int64_t lanes, size_t left, int64_t widest = INT64_MAX);

/// The epilogue of a reduction: the division by `count`, where it is not 1. `ones` dimensions of extent 1 are appended.
te::Tensor finish_rows(const te::Tensor& rows, size_t ones, const PrimExpr& count);
/// The elements of all dimensions from `first` on.
PrimExpr elements_from(const Array<PrimExpr>& shape, size_t first);
/// The mean of the squares of x less `mean`, which has ones for all axes but the first `left`; of one element less where
/// it is `unbiased`.
te::Tensor variance_blocks(const te::Tensor& x, const te::Tensor& mean, int64_t lanes, size_t left, bool keepdims,
                           bool unbiased, int64_t widest = INT64_MAX);

/// exp of x less the greatest of its row, over the sum of its row; 0 where that would be denormal. No more than `widest` elements of
/// x lie together.
te::Tensor softmax_rows(const te::Tensor& x, int64_t lanes, int64_t widest = INT64_MAX);

/// The logarithm of that, which stores no powers.
te::Tensor log_softmax_rows(const te::Tensor& x, int64_t lanes);
/// The argmax of each row, an int32: the first index of the maximum, or the `last`. `ones` dimensions of extent 1 are
/// appended. NaN counts as greatest.
te::Tensor argmax_rows(const te::Tensor& x, int64_t lanes, bool last, size_t ones);

/// Splits an axis into vectors; a short one at its end gets code of its own.
void vectorize_row(const te::Stage& stage, const IterVar& axis, int64_t lanes);

/// Attaches the stages that the functions above made, and all that has one number for a row, to the loop `row` of `consumer`,
/// in which one row is done. What has been attached elsewhere stays there.
void attach_rows(const te::Schedule& sch, const te::Stage& consumer, const IterVar& row, const Target& target);

/// The schedule of `outs`, computed from what the functions above gave and element-wise functions: one row after the
/// other, rows in parallel.
te::Schedule schedule_rows(const Array<te::Tensor>& outs, const Target& target);

}  // namespace tessera::topi
