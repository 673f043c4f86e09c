#pragma once
// Pooling: the maximum, minimum or sum of windows that lie side by side, as a nest of loops of their own.

#include <optional>

#include "topi/cpu/borders.h"
#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// A reduction over windows. What windows read along one axis of the results (the columns) depends only on the column of the
/// data, `step` times that of the result plus the offset in the window; so a column is reduced once over the other axes of
/// the window.
struct Windows {
  Reduction reduction;
  const BlockNode* padding = nullptr;   // a stage that pads the data, of which this is the only consumer
  const BlockNode* epilogue = nullptr;  // that stores, where the reduction has an epilogue
  size_t along = 0;                     // axis of the results that has the columns
  int64_t step = 1;                     // columns between windows
  int64_t lanes = 1, row_lanes = 1;     // of vectors of results, and of columns
  Var column;
  Bordered data;  // by axes of the results before `along`, of the window but the last, column, and axes after it

  /// All columns that windows read.
  int64_t columns() const { return (reduction.extents[along] - 1) * step + reduction.reduce_extents.back(); }
  /// Elements of a column that lie together: those of a block of channels.
  int64_t block() const { return along + 1 < reduction.axes.size() ? reduction.extents.back() : 1; }
};

/// The windows that a block reduces; nothing where it does not, where extents are dynamic, or where vectors would be short.
std::optional<Windows> as_windows(const schedule::State& state, const schedule::BlockRef& block,
                                  const Machine& machine);

/// for outer axes, in parallel: for rows of results:
///   row[column] = the column, reduced over all axes of the window but the last; outside of the data: the border
///   results = row over the last axis of the window, by vectors
/// Rows whose windows are all data have no conditions in them.
Stmt window_nest(const Windows& windows);

}  // namespace tessera::topi
