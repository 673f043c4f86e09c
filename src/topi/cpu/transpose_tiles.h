#pragma once
// Elements in another order by transposing tiles in registers: what a move between layouts, or of two axes, comes to.

#include <optional>

#include "te/tensor.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

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
/// The elements of `x`, moved, as a tensor of `shape`: in parallel, tile by tile, each in registers. Tiles at the ends overlap
/// those before them.
te::Tensor transpose_tiles(const te::Tensor& x, const Transposition& move, const Array<PrimExpr>& shape,
                           const Machine& machine);

}  // namespace tessera::topi
