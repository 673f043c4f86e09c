#pragma once
// Pooling: the maximum, minimum or sum of windows that lie side by side, as a nest of loops of their own.

#include <optional>

#include "topi/cpu/borders.h"
#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// What is decided about a pool.
struct PoolKnobsNode : Object {
  int32_t lanes = 1, column_lanes = 1;  // of vectors of results, and of columns
  int32_t rows = 1;                     // of results, whose columns are reduced before results are made of them
  bool shares_rows = false;             // between threads, beside the axes before them
  bool is_parallel = false;             // it is worth a second thread
  static constexpr NodeInfo info{"topi.cpu.PoolKnobs", &Object::info};
  static void fields(auto f) {
    f("lanes", &PoolKnobsNode::lanes);
    f("column_lanes", &PoolKnobsNode::column_lanes);
    f("rows", &PoolKnobsNode::rows);
    f("shares_rows", &PoolKnobsNode::shares_rows);
    f("is_parallel", &PoolKnobsNode::is_parallel);
  }
};
using PoolKnobs = Ref<PoolKnobsNode>;

/// A reduction over windows. What windows read along one axis of the results (the columns) depends only on the column of the
/// data, `step` times that of the result plus the offset in the window; so a column is reduced once over the other axes of
/// the window.
struct Windows {
  Reduction reduction;
  const BlockNode* padding = nullptr;   // a stage that pads the data, of which this is the only consumer
  const BlockNode* epilogue = nullptr;  // that stores, where the reduction has an epilogue
  size_t along = 0;                     // axis of the results that has the columns
  int64_t step = 1;                     // columns between windows
  int64_t dilation = 1;                 // columns between elements of a window
  Var column;
  PoolKnobs knobs;
  Bordered data;  // by axes of the results before `along`, of the window but the last, column, and axes after it

  /// Of an axis of the results; a number unless it is known only at run time.
  const PrimExpr& extent(size_t axis) const { return reduction.block->iter_vars[axis]->dom->extent; }
  bool is_dynamic() const { return topi::is_dynamic(reduction); }
  /// All columns that windows read.
  PrimExpr columns() const;
  /// Elements of a column that lie together: those of a block of channels.
  int64_t block() const { return along + 1 < reduction.axes.size() ? reduction.extents.back() : 1; }
  /// Rows of results that lie one below the other.
  PrimExpr height() const { return along > 0 ? extent(along - 1) : PrimExpr(1); }
  /// Elements that vectors of results, and of columns, lie along; as many as are likely where that is not known.
  int64_t result_elements() const;
  int64_t column_elements() const;
  /// How many elements of a window lie in a column.
  int64_t window_column() const;
};

/// The windows that a block reduces, with the cheapest plan for them; nothing where it does not, or where vectors would be
/// short. All extents but those of windows and of a block of channels may be dynamic.
std::optional<Windows> as_windows(const schedule::State& state, const schedule::BlockRef& block,
                                  const Machine& machine);

/// for outer axes, in parallel: for rows of results:
///   row[column] = the column, reduced over all axes of the window but the last; outside of the data: the border
///   results = row over the last axis of the window, by vectors
/// A column of many elements is reduced in memory, one row of the data after the other.
/// Rows whose windows are all data have no conditions in them. A ScheduleError where knobs do not fit the windows.
Stmt window_nest(const Windows& windows);

}  // namespace tessera::topi
