#pragma once
// Pools: the greatest, least or sum of windows that lie side by side, as a nest of loops of their own.

#include <optional>

#include "topi/cpu/borders.h"
#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// A reduction over windows. What a window has beside it along one axis of the results (the columns) depends only on the
/// column of the data, `step` times that of the result plus the tap; so a column is reduced once over all other taps.
struct Windows {
  Reduction reduction;
  const BlockNode* padding = nullptr;  // a stage that fills the data up, of which this is the only reader
  const BlockNode* reader = nullptr;   // that stores, where what follows the reduction is part of it
  size_t along = 0;                    // axis of the results that has the columns
  int64_t step = 1;                    // columns between windows
  int64_t lanes = 1, row_lanes = 1;    // of vectors of results, and of columns
  Var column;
  Bordered data;  // by axes of the results before `along`, taps but the last, column, and what follows

  /// All columns that windows read.
  int64_t columns() const { return (reduction.extents[along] - 1) * step + reduction.reduce_extents.back(); }
  /// Elements of a column that lie together: those of a block of channels.
  int64_t block() const { return along + 1 < reduction.axes.size() ? reduction.extents.back() : 1; }
};

/// The windows that a block reduces; nothing where it does not, where extents are dynamic, or where vectors would be short.
std::optional<Windows> as_windows(const schedule::State& state, const schedule::BlockRef& block,
                                  const Machine& machine);

/// for outer axes, in parallel: for rows of results:
///   row[column] = elements of the column, over all taps but the last; outside of the data: the border
///   results = row over the last taps, by vectors
/// Rows whose taps are all data have no conditions in them.
Stmt window_nest(const Windows& windows);

}  // namespace tessera::topi
