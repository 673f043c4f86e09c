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

std::vector<int64_t> likely_extents(const PrimExpr& dynamic, int64_t value) {
  return dynamic ? std::vector<int64_t>{7, 20, 50, 96, 128, 197, 384} : std::vector<int64_t>{value};
}

/// What tiles cost for `m` rows and `n` columns.
struct Tiles {
  const Matmul& matmul;
  const Machine& machine;
  int64_t lanes;

  double outer(const RegisterTile& tile, int64_t m, int64_t n) const {
    const int64_t width = tile.vectors * lanes;
    auto row_of_tiles = [&](int64_t height) {  // vectors that fill no panel are tiles of their own
      return static_cast<double>(n / width) * outer_tile_cost(machine, {height, tile.vectors}, matmul.k) +
             static_cast<double>(ceil_div(n % width, lanes)) * outer_tile_cost(machine, {height, 1}, matmul.k);
    };
    double out = cover_cost(m, tile.rows, [&](int64_t rows) {
      for (int64_t height : kTailHeights)
        if (rows <= height && height < tile.rows) return row_of_tiles(height);
      return row_of_tiles(tile.rows);
    });
    if (matmul.b.column != 1)
      out += TileCosts::transpose * static_cast<double>(matmul.k * ceil_div(n, lanes)) *
             static_cast<double>(ceil_div(m, tile.rows * kBlockRows));
    return out;
  }
  double dots(const RegisterTile& tile, int64_t m, int64_t n) const {
    auto row_of_tiles = [&](int64_t height) {
      return static_cast<double>(ceil_div(n, tile.vectors)) *
             dot_tile_cost(machine, {height, tile.vectors}, ceil_div(matmul.k, lanes));
    };
    return cover_cost(m, tile.rows, [&](int64_t rows) { return row_of_tiles(rows == 1 ? 1 : tile.rows); });
  }
};

}  // namespace

MatmulPlan plan_dynamic_matmul(const Matmul& matmul, const Machine& machine) {
  const Isa& isa = matmul_isa(machine, matmul.a_dtype);
  const Tiles tiles{matmul, machine, isa.vector_bytes / matmul.dtype.bytes()};
  const std::vector<int64_t> heights = likely_extents(matmul.dynamic_m, matmul.m);
  const std::vector<int64_t> widths = likely_extents(matmul.dynamic_n, matmul.n);
  /// For each result, with all extents alike.
  auto mean = [&](const std::vector<int64_t>& rows, const std::function<double(int64_t m, int64_t n)>& cost) {
    double out = 0;
    for (int64_t m : rows)
      for (int64_t n : widths) out += cost(m, n) / static_cast<double>(m * n);
    return out / static_cast<double>(rows.size() * widths.size());
  };
  MatmulPlanNode plan;
  plan.lanes = knob(tiles.lanes);
  plan.step = knob(matmul.k);
  plan.packs_b = matmul.b.column != 1;
  plan.block_rows = knob(kBlockRows);
  plan.block_columns = knob(kBlockColumns);
  plan.is_parallel = true;
  Cheapest outer;
  for (int64_t vectors = 1; vectors <= kMaxVectors; ++vectors) {
    for (int64_t rows = 1; rows <= std::min(max_tile_rows(vectors, isa.registers), kMaxRows); ++rows) {
      const RegisterTile tile{rows, vectors};
      if (!outer.is_better(mean(heights, [&](int64_t m, int64_t n) { return tiles.outer(tile, m, n); }))) continue;
      plan.rows = knob(rows);
      plan.vectors = knob(vectors);
    }
  }
  if (matmul.b.row != 1 || matmul.a.column != 1) {
    if (plan.packs_b && matmul.b.row != 1) return nullptr;
    return make(std::move(plan));
  }
  // Dot products: of all rows, or where those are fewer than is likely.
  auto cheapest_columns = [&](int64_t rows, const std::vector<int64_t>& extents) {
    Cheapest cheapest;
    int64_t best = 1;
    for (int64_t columns = 1; columns <= kMaxDotColumns; ++columns) {
      const RegisterTile tile{rows, columns};
      if (dot_registers(tile) > isa.registers) continue;
      if (cheapest.is_better(mean(extents, [&](int64_t m, int64_t n) { return tiles.dots(tile, m, n); })))
        best = columns;
    }
    return std::pair(cheapest.cost(), best);
  };
  const RegisterTile panel{plan.rows, plan.vectors};
  for (int64_t rows = 1; rows <= kMaxDotRows; ++rows) {
    auto [cost, columns] = cheapest_columns(rows, heights);
    if (!outer.is_better(cost)) continue;
    plan.by_dots = true;
    plan.rows = knob(rows), plan.columns = knob(columns);
  }
  for (int64_t rows = 1; rows <= kMaxDotRows && matmul.dynamic_m && !plan.by_dots; ++rows) {
    auto [cost, columns] = cheapest_columns(rows, {rows});
    if (cost < mean({rows}, [&](int64_t m, int64_t n) { return tiles.outer(panel, m, n); }))
      plan.dot_rows = knob(rows), plan.columns = knob(columns);
  }
  return make(std::move(plan));
}

void check_dynamic_plan(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the plan of a matmul does not fit it: " << what;
  };
  const bool has_dots = plan->by_dots || plan->dot_rows > 0;
  require(plan->dot_rows >= 0, "all sizes are at least 1");
  require(!has_dots || (matmul.b.row == 1 && matmul.a.column == 1), "vectors along k need factors that lie so");
  require(!has_dots || dot_registers({plan->by_dots ? plan->rows : plan->dot_rows, plan->columns}) <=
                           matmul_isa(machine, matmul.a_dtype).registers,
          "its tile has more sums than there are registers");
  require(plan->by_dots || plan->packs_b || matmul.b.column == 1,
          "vectors along n of a transposed matrix have to be packed");
}

}  // namespace tessera::topi
