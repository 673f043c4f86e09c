#pragma once
// Tiles whose sums lie in the matrix registers of AMX. A register has 16 rows of 64 bytes, and an instruction multiplies two of
// them: rows of A, and groups of neighbours along k of 16 columns of B, as they lie in panels (MatrixView::panel).

#include <functional>

#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Rows of sums in a register, and groups along k that an instruction takes of each.
inline constexpr int64_t kMatrixRows = 16, kMatrixGroups = 16;

/// True where the machine has such registers, and instructions that multiply by `dot`.
bool has_matrix_tiles(const Machine& machine, const Dot& dot);
/// True where a tile leaves registers for both factors.
bool fits_matrix_registers(const RegisterTile& tile);
/// What a tile costs, `steps` of k, in groups; what is left of them below a multiple of kMatrixGroups goes by vectors.
double matrix_tile_cost(const RegisterTile& tile, int64_t steps);

/// A tile of so many rows, in as few registers as can be; all but the last have `height` of them.
struct MatrixRows {
  int64_t rows = 1, registers = 1, height = 1;

  explicit MatrixRows(int64_t rows);
  /// The number of rows of a register where the matmul has `m` rows, which may be fewer than the tile; one at least.
  PrimExpr height_of(int64_t index, const PrimExpr& m) const;
};

/// `body` with the registers of a thread set up for tiles of so many rows and vectors:
///   ldtilecfg;  body;  tilerelease
Stmt with_matrix_registers(const MatrixRows& rows, int64_t vectors, const PrimExpr& m, const Stmt& body);

///   for k: sums += A[rows, k] . B[k, columns]
/// from zero, in memory at the end. Indices are those of first elements, strides are in elements.
struct MatrixTile {
  const Dot* dot = nullptr;
  MatrixRows rows;
  int64_t vectors = 1;  // of columns; registers are set up for as many or more
  PrimExpr depth;       // of k, in steps of kMatrixGroups groups
  Buffer a, b, sums;
  int64_t a_stride = 0, b_stride = 0, sums_stride = 0;             // from row to row, and from group to group
  std::function<PrimExpr(int64_t index, const PrimExpr& k)> a_at;  // rows of register `index`
  std::function<PrimExpr(const PrimExpr& k, int64_t vector)> b_at;
  std::function<Stmt(const PrimExpr& k)> beside;  // what is done with each step of k; may be null
};
/// `vectors` is that of the registers' set-up.
Stmt matrix_tile(const MatrixTile& tile, int64_t vectors);

}  // namespace tessera::topi
