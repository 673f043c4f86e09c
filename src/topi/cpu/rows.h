#pragma once
// Reductions along rows that lie together in memory: by vectors of partial results, and what they are used for.

#include "ir/target.h"
#include "te/schedule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// How many lanes partial results of the last axis of `x` have; 0 where rows are not of known extents, too short, or of a
/// type that is not worth it.
int64_t row_lanes(const te::Tensor& x, const Machine& machine);

enum class RowKind { Sum, Max };
/// The reduction of the last axis, which the result lacks.
///   parts[..., lane] = over k: x[..., k * lanes + lane];  result[...] = over lanes: parts[..., lane]
te::Tensor reduce_rows(const te::Tensor& x, RowKind kind, int64_t lanes);

/// exp of x less the greatest of its row, over the sum of its row.
te::Tensor softmax_rows(const te::Tensor& x, int64_t lanes);

/// The schedule of `outs`, computed from what the functions above gave: one row after the other, rows in parallel.
te::Schedule schedule_rows(const Array<te::Tensor>& outs, const Target& target);

}  // namespace tessera::topi
