#pragma once
// Matmuls in programs of blocks: which reductions are one, and what of them a nest of loops has to know.

#include <optional>

#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// A matrix as numbered elements of memory: element (i, j) of batch b is at base(b) + i * row + j * column.
struct MatrixView {
  Buffer flat;                 // the tensor with one dimension; empty where only a plan is made
  std::vector<int64_t> batch;  // strides of the batch axes
  int64_t row = 0, column = 0;
  /// Of a matmul with dynamic extents: strides that are known only at run time (the numbers are guesses then), and the element
  /// that the block reads.
  PrimExpr dynamic_row, dynamic_column;
  const BufferLoad* load = nullptr;
  /// Columns that lie in panels of so many, packed beforehand: panel after panel, in each of them a row of groups along k after the
  /// other, (n / panel, k / group, panel, group). 0 where the strides say it all; `kAnyPanel` where they are still to be packed.
  int64_t panel = 0;

  /// The index of an element; `base` is that of the batch. With dynamic extents it has 64 bits.
  PrimExpr at(const PrimExpr& base, const PrimExpr& i, const PrimExpr& j) const;
};
inline constexpr int64_t kAnyPanel = -1;
/// Extents that are dynamic, for the choice of tiles.
inline constexpr int64_t kGuessedRows = 96, kGuessedColumns = 96, kGuessedDepth = 64, kGuessedBatch = 12;

/// C[m, n] = A[m, k] . B[k, n] for each element of the batch axes, with its element-wise epilogue. Neighbours along n lie
/// together in the result.
struct Matmul {
  DataType a_dtype, b_dtype, dtype;  // of the factors, and of the sums
  int64_t batch = 1, m = 1, n = 1, k = 1;
  /// Those that are known only at run time: the numbers are guesses then.
  PrimExpr dynamic_batch, dynamic_m, dynamic_n, dynamic_k;
  int64_t group = 1;  // neighbours along k that one lane of a sum takes
  std::vector<int64_t> batch_extents;
  MatrixView a, b;
  const BlockNode* block = nullptr;     // that adds up
  const BlockNode* epilogue = nullptr;  // that stores, where the matmul has an epilogue
  schedule::BlockRef epilogue_ref;

  bool is_dynamic() const {
    return dynamic_batch.defined() || dynamic_m.defined() || dynamic_n.defined() || dynamic_k.defined();
  }
  /// True where groups lie together only once B is copied.
  bool copies_groups() const { return group > 1 && b.panel == 0; }
  /// Of k, a group at a time.
  int64_t steps() const { return ceil_div(k, group); }
  /// The index in `view` of the first element of one of `batch`.
  PrimExpr base(const MatrixView& view, const PrimExpr& batch) const;
  /// What is to be done with element (i, j), whose sum is `value`.
  Stmt store(const PrimExpr& batch, const PrimExpr& i, const PrimExpr& j, const PrimExpr& value) const;
  /// True where storing takes many instructions: it should stand in the program once, in a loop.
  bool stores_by_functions() const;

 private:
  friend std::optional<Matmul> as_matmul(const schedule::State&, const schedule::BlockRef&, const PrimFunc&);
  /// Where an axis of the result gets its values from: a digit of the batch, of the rows, or the columns.
  enum class From { Unit, Batch, Row, Column };
  struct Axis {
    From from = From::Unit;
    PrimExpr divisor, extent;
    bool is_outermost = false;  // of its digits
  };
  /// The index of an element along axis `n` of the result.
  PrimExpr digit(size_t n, const PrimExpr& batch, const PrimExpr& i, const PrimExpr& j) const;
  std::vector<Axis> axes_;
};

/// The matmul that a block computes: a contraction of two inputs of the function. Where B lies in panels only rows may be dynamic.
/// Nothing where it is none.
std::optional<Matmul> as_matmul(const schedule::State& state, const schedule::BlockRef& block,
                                const PrimFunc& function);

}  // namespace tessera::topi
