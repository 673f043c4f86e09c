#pragma once
// The loops of a matmul around its tiles, and what they are made of.

#include "topi/cpu/contraction/matmul_plan.h"
#include "topi/cpu/contraction/matmul_tile.h"

namespace tessera::topi {

/// The loops of the matmul, with what follows it.
Stmt matmul_nest(const Matmul& matmul, const MatmulPlan& plan);

/// For tiles whose vectors lie along n:
///   for parts of C, in parallel:                       batch x parts_m x parts_n
///     for blocks of panels:  copy B[k, panels]         (once for all threads where they share it)
///       for blocks of rows: for steps of k:  copy A[rows, step]
///         for panels: for tiles of rows: tile          a panel of B stays in L1, A in the second
/// Both copies are left out where the plan says so. Sums of a tile go to C at once where k is one step; else they wait,
/// tile after tile, in a block of memory.
Stmt outer_nest(const Matmul& matmul, const MatmulPlan& plan);

/// For tiles whose vectors lie along k: parts of C, in parallel, then tiles.
Stmt dot_nest(const Matmul& matmul, const MatmulPlan& plan);

// ---- parts of both ---------------------------------------------------------------------------------------------------

/// The first element of a tile.
PrimExpr start_of(const Cuts& cuts, const PrimExpr& tile);
/// The code for tiles of both sizes; `tile_of` is given a size.
Stmt by_size(const Cuts& cuts, const PrimExpr& tile, const std::function<Stmt(int64_t)>& tile_of);

/// Numbers from `first` on, `count` of them.
struct Span {
  PrimExpr first, count;
};
/// for blocks of `size` of a span, which has `most` at most: body(the block)
Stmt by_blocks(const char* name, const Span& span, int64_t most, int64_t size,
               const std::function<Stmt(const Span&)>& body);

/// What one thread does at a time: a matmul of the batch, and tiles of its rows and columns.
struct Task {
  PrimExpr batch;
  Span rows, columns;
};
/// for tasks, in parallel: body(task); the result has so many columns of tiles.
Stmt for_tasks(const Matmul& matmul, const MatmulPlan& plan, int64_t columns,
               const std::function<Stmt(const Task&)>& body);

}  // namespace tessera::topi
