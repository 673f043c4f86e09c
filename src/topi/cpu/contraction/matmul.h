#pragma once
// Matmuls in programs of blocks: which reductions are one, and what of them a nest of loops has to know.

#include <optional>

#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// A matrix as numbered elements of memory: element (i, j) of batch b is at base(b) + i * row + j * column.
struct MatrixView {
  Buffer flat;                 // the tensor with one dimension
  std::vector<int64_t> batch;  // strides of the batch axes
  int64_t row = 0, column = 0;

  /// The place of an element; `base` is that of the batch.
  PrimExpr at(const PrimExpr& base, const PrimExpr& i, const PrimExpr& j) const;
};

/// C[m, n] = A[m, k] . B[k, n] for each element of the batch axes, with whatever is done to an element of C before it is
/// stored. Neighbours along n lie together in the result.
struct Matmul {
  DataType dtype;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  std::vector<int64_t> batch_extents;
  MatrixView a, b;
  const BlockNode* block = nullptr;   // that adds up
  const BlockNode* reader = nullptr;  // that stores, where what follows the matmul is part of it
  schedule::BlockRef reader_ref;

  /// The place in `view` of the first element of one of `batch`.
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
    int64_t divisor = 1, extent = 1;
  };
  std::vector<Axis> axes_;
};

/// The matmul that a block computes: sums of products of two inputs of the function, of extents that are numbers and of
/// one type of floats. Nothing where it is none.
std::optional<Matmul> as_matmul(const schedule::State& state, const schedule::BlockRef& block,
                                const PrimFunc& function);

}  // namespace tessera::topi
