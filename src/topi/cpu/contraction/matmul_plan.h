#pragma once
// How a matmul is computed on a machine: by which kind of tile, split how, with what copied into panels.

#include "topi/cpu/contraction/matmul.h"
#include "topi/cpu/contraction/tile_plan.h"

namespace tessera::topi {

enum class Prefetch { None, NextPanel, Ahead };

/// All that is decided about a matmul. Every number is a knob: the result is right for any value that `check_plan` lets pass.
struct MatmulPlanNode : Object {
  bool by_dots = false;          // vectors lie along k in both factors; else along n, and elements of A are broadcast
  bool by_matrix_tiles = false;  // along n too, with sums in matrix registers
  int32_t lanes = 1;
  int32_t rows = 1;           // of a tile, at most
  int32_t vectors = 1;        // of a tile, and of a panel of B; the last panel has what is left
  int32_t columns = 1;        // by dots: of a tile, at most
  int32_t dot_rows = 0;       // dynamic rows up to so many go by dots
  bool rows_outside = false;  // by dots: a pass over all columns for each tile of rows
  bool packs_a = false, packs_b = false;
  int32_t step = 1;  // of k that runs at once, in groups; with fewer than all of them partial sums go to memory
  int32_t block_rows = 1, block_columns = 1;  // tiles of rows and panels that share what is in the cache
  int32_t parts_m = 1, parts_n = 1;           // for threads, of each element of the batch
  int32_t prefetch_b = 0;        // a Prefetch: of panels of B, while the one before is in use, or a little ahead
  bool prefetch_result = false;  // its cache lines, before they are written
  bool is_parallel = false;      // parts and the batch are worth a second thread
  static constexpr NodeInfo info{"topi.cpu.MatmulPlan", &Object::info};
  static void fields(auto f) {
    f("by_dots", &MatmulPlanNode::by_dots);
    f("lanes", &MatmulPlanNode::lanes);
    f("rows", &MatmulPlanNode::rows);
    f("vectors", &MatmulPlanNode::vectors);
    f("columns", &MatmulPlanNode::columns);
    f("dot_rows", &MatmulPlanNode::dot_rows);
    f("rows_outside", &MatmulPlanNode::rows_outside);
    f("packs_a", &MatmulPlanNode::packs_a);
    f("packs_b", &MatmulPlanNode::packs_b);
    f("step", &MatmulPlanNode::step);
    f("block_rows", &MatmulPlanNode::block_rows);
    f("block_columns", &MatmulPlanNode::block_columns);
    f("parts_m", &MatmulPlanNode::parts_m);
    f("parts_n", &MatmulPlanNode::parts_n);
    f("prefetch_b", &MatmulPlanNode::prefetch_b);
    f("prefetch_result", &MatmulPlanNode::prefetch_result);
    f("is_parallel", &MatmulPlanNode::is_parallel);
    f("by_matrix_tiles", &MatmulPlanNode::by_matrix_tiles);
  }
};
using MatmulPlan = Ref<MatmulPlanNode>;

/// Where the machine multiplies elements of these types by groups along k, and the matmul has none yet, it gets them: B is copied.
void take_groups(Matmul* matmul, const Machine& machine);
/// The cheapest plan for `matmul`; empty where no kind of tile fits its types and how its factors lie in memory.
MatmulPlan plan_matmul(const Matmul& matmul, const Machine& machine);
/// A ScheduleError where the numbers of a plan do not fit the matmul or each other.
void check_plan(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

/// How a constant B is packed for matmuls of so many rows (`kDynamic` for any number): see MatrixView::panel.
struct PanelLayout {
  int64_t width = 0, group = 1;
};
/// Nothing where the machine has no instructions for the types, or the matmul is too small for packing to pay.
std::optional<PanelLayout> plan_panels(const Machine& machine, DataType a, DataType b, DataType sum, int64_t m,
                                       int64_t n, int64_t k);

/// The plan of a matmul of two inputs with dynamic extents, for extents that are likely; empty where there is none.
MatmulPlan plan_dynamic_matmul(const Matmul& matmul, const Machine& machine);
void check_dynamic_plan(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine);

}  // namespace tessera::topi
