#pragma once
// What kernels of wgmma (sm_90a) are written with: roles of warp groups, barriers that count arrivals, sums in registers.

#include <string>

#include "topi/gpu/contraction.h"

namespace tessera::topi {

inline constexpr int64_t kWarpGroupThreads = 128;
inline constexpr int64_t kWgmmaRows = 64;         // of one wgmma
inline constexpr int64_t kWgmmaStepBytes = 32;    // of it, along k
inline constexpr int64_t kStoredColumns = 32;     // that four lanes store together
inline constexpr int64_t kMaxMultiplyGroups = 3;  // warp groups that multiply, beside one that copies

/// An operator of codegen/cuda/hopper.cc as a statement: ptx("wgmma_wait", {0}).
Stmt ptx(const char* name, Array<PrimExpr> args = {});
/// "m64n128k16.f32.bf16.bf16"
std::string wgmma_form(int64_t columns, DataType a, DataType b);
/// The first warp group copies, `groups` others multiply, each with the registers it needs.
Stmt wgmma_roles(const PrimExpr& thread, int64_t groups, Stmt copies, Stmt multiplies);

/// Sums of a warp group, in registers of its threads: `parts` times 64 rows of `columns`.
struct WgmmaSums {
  Buffer memory;
  int64_t parts = 1, columns = 0;
  bool rows_are_inside = false, columns_are_inside = false;  // of the matrix
};
/// Stores them, from element (row, column) on, with the epilogue of the contraction. A lane has two neighbours of a row, and of the
/// row eight further on, of each eight columns; four lanes exchange them, so that each stores eight neighbours.
Stmt store_wgmma_sums(const GpuContraction& contraction, const WgmmaSums& sums, const PrimExpr& thread,
                      const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column);

}  // namespace tessera::topi
