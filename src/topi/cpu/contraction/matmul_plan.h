#pragma once
// How a matmul is computed on a machine: by which kind of tile, cut how, with what copied into panels.

#include "topi/cpu/contraction/matmul.h"

namespace tessera::topi {

/// Outer: vectors lie along n, elements of A are repeated in all lanes. Dot: vectors lie along k in both factors.
enum class MatmulKind { Outer, Dot };

/// Axes are cut into tiles that differ by one at most: the first `longer` have `size` elements, the rest one less.
struct Cuts {
  int64_t tiles = 1, size = 1, longer = 1;

  static Cuts even(int64_t extent, int64_t largest);
  bool is_even() const { return longer == tiles; }
};

struct MatmulPlan {
  MatmulKind kind = MatmulKind::Outer;
  int64_t lanes = 1;
  Cuts rows;
  // Outer: panels of `vectors` vectors, and a last one of what is left
  int64_t vectors = 1;
  // Dot: columns of a tile
  Cuts columns;
  bool rows_outside = false;  // Dot: a pass over all columns for each tile of rows
  bool packs_a = false, packs_b = false;
  int64_t step = 1;                           // of k that runs at once; less than k: sums wait in memory in between
  int64_t block_rows = 1, block_columns = 1;  // tiles of rows and panels that share what is in the cache
  int64_t parts_m = 1, parts_n = 1;           // for threads, of each element of the batch
  bool b_is_far = false;                      // panels of it are asked for while the one before is in use
  bool result_is_far = false;                 // lines of it are asked for before they are written
  bool zips = false;                          // panels are turned over as zips_vectors says
  bool is_parallel = false;                   // parts and the batch are worth a second thread

  int64_t tasks(const Matmul& matmul) const { return matmul.batch * parts_m * parts_n; }
};

/// The plan for `matmul`; nothing where neither kind of tile fits how its factors lie in memory, or the machine has no
/// vectors to speak of.
std::optional<MatmulPlan> plan_matmul(const Matmul& matmul, const Machine& machine);

}  // namespace tessera::topi
