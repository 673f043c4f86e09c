// Plans of matmuls of two inputs with dynamic extents: tiles that are cheap for extents that are likely.

#include <algorithm>

#include "topi/cpu/contraction/matmul_plan.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/cost_model.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxVectors = 4, kMaxDotColumns = 8, kMaxDotRows = 4;
/// Of a tile: the addresses of rows of A, whose distance may be known only at run time, stay in registers.
constexpr int64_t kMaxRows = 8;
/// Tiles of rows that share a panel of B, and tiles of columns that are one task where they are dot products.
constexpr int64_t kBlockRows = 16, kBlockColumns = 8;

int32_t knob(int64_t value) { return static_cast<int32_t>(value); }

TileAxis axis_of(const PrimExpr& dynamic, int64_t value, Cover cover, int64_t unit = 1) {
  return {dynamic ? likely_extents() : std::vector<int64_t>{value}, cover, unit};
}

}  // namespace

MatmulPlan plan_dynamic_matmul(const Matmul& matmul, const Machine& machine) {
  const Isa& isa = matmul_isa(machine, matmul.a_dtype);
  const int64_t lanes = isa.vector_bytes / matmul.dtype.bytes();
  const bool is_transposed = matmul.b.column != 1;
  TileSpace panels{.rows = axis_of(matmul.dynamic_m, matmul.m, Cover::Heights),
                   .vectors = axis_of(matmul.dynamic_n, matmul.n, Cover::Singles, lanes)};
  panels.max_rows = kMaxRows;
  panels.max_vectors = kMaxVectors;
  panels.fits = [&](const RegisterTile& tile) { return outer_registers(tile) <= isa.registers; };
  panels.tile_cost = [&](const RegisterTile& tile) { return outer_tile_cost(machine, tile, matmul.steps()); };
  if (is_transposed)
    panels.more = [&](const RegisterTile& tile, int64_t m, int64_t n) {
      return TileCosts::transpose * static_cast<double>(matmul.k * ceil_div(n, lanes)) *
             static_cast<double>(ceil_div(m, tile.rows * kBlockRows));
    };
  const TileChoice outer = cheapest_tile(panels);
  MatmulPlanNode plan;
  plan.lanes = knob(lanes);
  plan.rows = knob(outer.tile.rows);
  plan.vectors = knob(outer.tile.vectors);
  plan.step = knob(matmul.steps());
  plan.packs_b = is_transposed || matmul.copies_groups();
  plan.packs_a = matmul.copies_groups() && (matmul.dynamic_k || matmul.k % matmul.group != 0);
  plan.block_rows = knob(kBlockRows);
  plan.block_columns = knob(kBlockColumns);
  plan.is_parallel = true;
  if (is_transposed && matmul.b.row != 1) return nullptr;
  if (matmul.b.row != 1 || matmul.a.column != 1 || matmul.group > 1) return make(std::move(plan));
  // Dot products: of all rows, or where those are fewer than is likely.
  TileSpace dots{.rows = axis_of(matmul.dynamic_n, matmul.n, Cover::Filled),
                 .vectors = axis_of(matmul.dynamic_m, matmul.m, Cover::Filled)};
  dots.max_rows = kMaxDotColumns;
  dots.max_vectors = kMaxDotRows;
  dots.fits = [&](const RegisterTile& tile) { return dot_registers(tile) <= isa.registers; };
  dots.tile_cost = [&](const RegisterTile& tile) { return dot_tile_cost(machine, tile, ceil_div(matmul.k, lanes)); };
  if (const TileChoice all = cheapest_tile(dots); all.cost < outer.cost) {
    plan.by_dots = true;
    plan.rows = knob(all.tile.vectors), plan.columns = knob(all.tile.rows);
  }
  for (int64_t rows = 1; rows <= kMaxDotRows && matmul.dynamic_m && !plan.by_dots; ++rows) {
    panels.rows.extents = dots.vectors.extents = {rows};
    dots.min_vectors = dots.max_vectors = rows;
    const TileChoice few = cheapest_tile(dots);
    if (few.cost < panels.cost(outer.tile)) plan.dot_rows = knob(rows), plan.columns = knob(few.tile.rows);
  }
  return make(std::move(plan));
}

void check_dynamic_plan(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the plan of a matmul does not fit it: " << what;
  };
  const bool has_dots = plan->by_dots || plan->dot_rows > 0;
  require(plan->dot_rows >= 0, "all sizes are at least 1");
  require(!has_dots || (matmul.b.row == 1 && matmul.a.column == 1 && matmul.group == 1),
          "vectors along k need factors that lie so");
  require(!has_dots || dot_registers({plan->by_dots ? plan->rows : plan->dot_rows, plan->columns}) <=
                           matmul_isa(machine, matmul.a_dtype).registers,
          "its tile has more sums than there are registers");
  require(plan->by_dots || plan->packs_b || (matmul.b.column == 1 && matmul.group == 1),
          "a transposed matrix and groups along k have to be packed");
  const bool has_rest = matmul.dynamic_k || matmul.k % matmul.group != 0;
  require(plan->packs_a == (matmul.copies_groups() && has_rest), "a group that sticks out has to be filled up");
}

}  // namespace tessera::topi
