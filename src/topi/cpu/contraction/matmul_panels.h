#pragma once
// Parts of the factors of a matmul, copied so that a tile reads them from beginning to end.

#include "topi/cpu/contraction/matmul_nest.h"

namespace tessera::topi {

/// A panel of B: `size` columns from j0 on, all of k, at `to` in `panels`, one row of vectors after the other. Lanes
/// beyond the result are zeros. `base` is the index of the matrix in B.
Stmt copy_panel_b(const Matmul& matmul, const Machine& machine, const TileSize& size, const PrimExpr& base,
                  const PrimExpr& j0, const Buffer& panels, const PrimExpr& to);

/// The same for groups along k (Matmul::group): a row of the panel has a vector of groups after the other, with zeros beyond the last
/// element of k. There are `vectors` of them; of the last one `used` columns are those of the result. Extents may be dynamic: from a
/// transposed B whole squares are stored then, as many as `group_panel_elements` has room for.
struct GroupPanel {
  int64_t vectors = 1, lanes = 1;
  PrimExpr used;
  PrimExpr base, j0;
};
Stmt copy_group_panel(const Matmul& matmul, const Machine& machine, const GroupPanel& panel, const Buffer& panels,
                      const PrimExpr& to);
PrimExpr group_panel_elements(const Matmul& matmul, const GroupPanel& panel);

/// How a tile of rows of A lies in a panel: rows as they were, or where columns lie together, one column after the other.
struct PanelA {
  int64_t row = 1, column = 1;  // strides
  int64_t elements = 0;
};
PanelA panel_a(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

/// `height` rows of A, and `depth` elements of each from k0 on; `row` gives the index of each. A last group that is not whole is
/// filled up with zeros.
Stmt copy_panel_a(const Matmul& matmul, const MatmulPlan& plan, const PanelA& shape, int64_t height,
                  const std::function<PrimExpr(const PrimExpr& i, const PrimExpr& k)>& element, const PrimExpr& depth,
                  const Buffer& panels, const PrimExpr& to);

}  // namespace tessera::topi
