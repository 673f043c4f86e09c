#pragma once
// Elements in another order by transposing tiles in registers: what a move between layouts, or of two axes, comes to.

#include <optional>

#include "te/tensor.h"
#include "topi/block_rule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Rows and columns of a tile, powers of two: `rows` vectors of `columns` elements are read, and written the other way round.
struct TransposeTile {
  int64_t rows = 1, columns = 1;
};

// ---- stages of programs of blocks -----------------------------------------------------------------------------------

/// Axes that go through all memory as one would, the innermost last.
struct AxisRun {
  std::vector<size_t> axes;
  int64_t extent = 1;
};

/// A stage that writes along one run of axes and reads some of its tensors along another: out[j, i] = f(a[i, j], b[j, i]).
/// Other axes may be used in any way.
struct TransposingStage {
  const BlockNode* block = nullptr;
  std::vector<int64_t> extents;  // of the axes
  AxisRun written, read;         // along which elements lie together
  std::vector<const BufferLoad*>
      transposed;      // loads along `read`; others are along `written`, or the same for all of it
  TransposeTile tile;  // rows are along `written`
  bool is_parallel = false;
};
/// The stage without a tile. Nothing where it is none, or a tensor is not compact, or of bfloat16 where that is not taken.
std::optional<TransposingStage> transposing_axes(const schedule::State& state, const schedule::BlockRef& block,
                                                 bool takes_bfloat);
/// Nothing where a stage is none, or tiles would not fill vectors in both directions.
std::optional<TransposingStage> as_transposing(const schedule::State& state, const schedule::BlockRef& block,
                                               const Machine& machine);
/// The nest: tiles are read by vectors, transposed in registers, and computed with and written by vectors. Tiles at the ends
/// overlap those before them.
Stmt transposing_nest(const TransposingStage& stage, const Machine& machine);

/// Rows of a tile, or columns: the first element of the first of them, and how far apart they are.
struct TileRows {
  Buffer buffer;  // of one dimension
  PrimExpr first, step;
};
/// Reads the rows of a tile, transposes it in registers, and writes its columns.
Stmt move_tile(const TileRows& from, const TileRows& to, const TransposeTile& tile, const Machine& machine);
/// The tile for these many rows and columns, of which those that are no numbers may be many; nothing where vectors would not be
/// filled in both directions.
std::optional<TransposeTile> dynamic_tile(const PrimExpr& rows, const PrimExpr& columns, DataType dtype,
                                          const Machine& machine);

// ---- tensors --------------------------------------------------------------------------------------------------------

/// `matrices` matrices of `rows` x `columns`, one after the other, become matrices of `columns` x `rows`.
struct Transposition {
  int64_t matrices = 1, rows = 1, columns = 1;
};

/// A tensor of extents `shape`, its axes in the order `axes`, as a transposition; nothing where more than two runs of axes
/// are swapped, or an extent is not a number.
std::optional<Transposition> as_transposition(const Array<PrimExpr>& shape, const std::vector<size_t>& axes);
/// The same for a tensor that goes from one layout to another.
std::optional<Transposition> as_transposition(const Array<PrimExpr>& shape, const String& from, const String& to);

/// True where tiles fill vectors in both directions.
bool has_tiles(const Transposition& move, DataType dtype, const Machine& machine);
/// The elements of `x`, moved, as a tensor of `shape`: in parallel, tile by tile, each in registers.
te::Tensor transpose_tiles(const te::Tensor& x, const Transposition& move, const Array<PrimExpr>& shape,
                           const Machine& machine);

}  // namespace tessera::topi
