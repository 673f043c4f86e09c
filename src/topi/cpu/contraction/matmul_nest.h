#pragma once
// The loops of a matmul around its tiles, and what they are made of.

#include "topi/cpu/contraction/matmul_plan.h"
#include "topi/cpu/contraction/register_tile.h"

namespace tessera::topi {

/// The loops of the matmul, with its epilogue, as the plan says.
Stmt matmul_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

/// For tiles whose vectors lie along n:
///   for parts of C, in parallel:                       batch x parts_m x parts_n
///     for blocks of panels:  copy B[k, panels]         (once for all threads where they share it)
///       for blocks of rows: for steps of k:  copy A[rows, step]
///         for panels: for tiles of rows: tile          a panel of B stays in L1, A in L2
/// Both copies are left out where the plan says so, and B's where it was packed beforehand. Sums of a tile go to C at once where k
/// is one step; else partial sums, tile after tile, go to a block of memory.
/// Where rows are dynamic, parts of columns come before tiles of rows, each of them a task. The last tile has the height of the
/// next larger of a few; rows beyond the end are computed from the last one and not stored.
Stmt outer_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

/// For two inputs of dynamic extents, by tiles of either kind:
///   for the batch, panels of columns, blocks of rows, in parallel where there is enough to do:
///     copy B[k, panel]                                 where the plan says so
///     for tiles of rows: tile
/// The last tile of rows is as in `outer_nest`; of columns that do not fill a panel each vector is a tile of its own, the last one
/// under a mask. With few rows of a transposed B a tile is made of dot products; that is seen at run time.
Stmt dynamic_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

/// For tiles whose vectors lie along k: parts of C, in parallel, then tiles.
Stmt dot_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

// ---- parts of both ---------------------------------------------------------------------------------------------------

/// The first element of a tile.
PrimExpr start_of(const EvenTiles& tiles, const PrimExpr& tile);
/// The code for tiles of both sizes; `tile_of` is given a size.
Stmt by_size(const EvenTiles& tiles, const PrimExpr& tile, const std::function<Stmt(int64_t)>& tile_of);

/// Numbers from `first` on, `count` of them.
struct Span {
  PrimExpr first, count;
};
/// Part `index` of `total` in `parts` nearly equal ones.
Span part_of(int64_t total, int64_t parts, const PrimExpr& index);
/// for blocks of `size` of a span, which has `most` at most: body(the block)
Stmt by_blocks(const char* name, const Span& span, int64_t most, int64_t size,
               const std::function<Stmt(const Span&)>& body);

/// What one thread does at a time: a matmul of the batch, and tiles of its rows and columns.
struct Task {
  PrimExpr batch;
  Span rows, columns;
};
/// for tasks, in parallel: body(task); the result has so many rows and columns of tiles.
Stmt for_tasks(const Matmul& matmul, const MatmulPlan& plan, int64_t rows, int64_t columns,
               const std::function<Stmt(const Task&)>& body);

}  // namespace tessera::topi
