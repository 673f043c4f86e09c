#include "topi/cpu/contraction/matmul_plan.h"

#include <algorithm>

#include "topi/cpu/contraction/matrix_tile.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/cost_model.h"

namespace tessera::topi {
namespace {

register_types<MatmulPlanNode> types;

/// Steps of k in which cache lines of the result arrive from memory.
constexpr int64_t kMinPrefetchSteps = 64;
constexpr int64_t kMaxDotSide = 8;
/// Of panels that are packed beforehand: more would only be read by matmuls of a single row, which gain nothing.
constexpr int64_t kMaxPackedVectors = 8;
/// Up to here k runs at once; above it in steps.
constexpr int64_t kMaxAtOnce = 1024, kMaxStep = 512;
/// Rows that have to read a panel of B before copying it pays.
constexpr int64_t kRowsForPanels = 288;
/// With fewer rows than the first, B comes from memory faster than it is used: a few rows of it are read to their ends, as
/// many as the second, or as the last where there are hardly any sums.
constexpr int64_t kFewRows = 40, kShortStep = 16, kMinStep = 8;
/// Rows of B that all may be read side by side.
constexpr int64_t kFewSteps = 256;
/// Multiply-adds below which packing does not pay.
constexpr int64_t kMinPacked = 1 << 14;
/// Tiles in matrix registers that have to share a panel of B before each can prefetch its part of the next one.
constexpr int64_t kMinMatrixSharing = 3;
/// Tiles of rows that share a panel of B, if there are as many.
constexpr int64_t kSharingRows = 8;

int32_t knob(int64_t value) { return static_cast<int32_t>(value); }

/// What is to be planned: the matmul, the instructions it is made with, and where.
struct Problem {
  const Matmul& matmul;
  const Machine& machine;
  const Dot& dot;
  const Isa& isa;

  int64_t lanes() const { return isa.vector_bytes / dot.c.bytes(); }
  bool widens() const { return dot.a != dot.b && dot.group == 1; }
  bool has_panels() const { return matmul.b.panel != 0; }
  /// Bytes that a step of k reads of a panel of B.
  int64_t panel_row_bytes(int64_t vectors) const { return vectors * lanes() * dot.group * dot.b.bytes(); }
};

std::optional<Problem> problem_of(const Matmul& matmul, const Machine& machine) {
  const Dot* dot = dot_on(machine, matmul.a_dtype, matmul.b_dtype);
  if (!dot || dot->c != matmul.dtype || dot->group != matmul.group) return {};
  Problem out{matmul, machine, *dot, matmul_isa(machine, matmul.a_dtype)};
  return out.lanes() < 2 ? std::nullopt : std::optional(out);
}

/// Tiles whose vectors lie along n, as far as panels leave a choice.
TileSpace space_along_n(const Problem& problem) {
  const auto& [matmul, machine, dot, isa] = problem;
  const int64_t lanes = problem.lanes(), all = ceil_div(matmul.n, lanes);
  TileSpace space{.rows = {{matmul.m}, Cover::Even}, .vectors = {{all}, Cover::Rest}};
  space.max_rows = isa.registers;
  space.max_vectors = std::min<int64_t>(all, isa.registers);
  if (matmul.b.panel == kAnyPanel) space.max_vectors = std::min(space.max_vectors, kMaxPackedVectors);
  else if (matmul.b.panel > 0)
    space.min_vectors = space.max_vectors = matmul.b.panel % lanes == 0 ? matmul.b.panel / lanes : isa.registers;
  return space;
}

/// Vectors lie along n.
TileChoice best_outer(const Problem& problem) {
  const auto& [matmul, machine, dot, isa] = problem;
  TileSpace space = space_along_n(problem);
  space.takes_most_rows = true;
  space.fits = [&](const RegisterTile& tile) { return outer_registers(tile) <= isa.registers; };
  space.tile_cost = [&](const RegisterTile& tile) {
    return outer_tile_cost(machine, tile, matmul.steps(), problem.widens());
  };
  return cheapest_tile(space);
}

/// True where matrix registers can hold what a matmul reads: whole groups along rows of A, and panels of B. A single row is read no
/// faster by them.
bool takes_matrix_tiles(const Problem& problem) {
  const Matmul& matmul = problem.matmul;
  return has_matrix_tiles(problem.machine, problem.dot) && problem.lanes() == kMatrixRows && matmul.group > 1 &&
         matmul.m > 1 && matmul.a.column == 1 && matmul.k % matmul.group == 0 && matmul.steps() >= kMatrixGroups;
}

/// Sums lie in matrix registers.
TileChoice best_matrix(const Problem& problem) {
  if (!takes_matrix_tiles(problem)) return {};
  TileSpace space = space_along_n(problem);
  space.max_rows = 2 * kMatrixRows;
  space.fits = fits_matrix_registers;
  space.tile_cost = [&](const RegisterTile& tile) { return matrix_tile_cost(tile, problem.matmul.steps()); };
  return cheapest_tile(space);
}

/// Vectors lie along k. Both sides are alike; of tiles that cost the same that with fewer rows is taken, so they are the `vectors`.
TileChoice best_dots(const Problem& problem) {
  const auto& [matmul, machine, dot, isa] = problem;
  const int64_t steps = ceil_div(matmul.k, problem.lanes());
  TileSpace space{.rows = {{matmul.n}, Cover::Even}, .vectors = {{matmul.m}, Cover::Even}};
  space.max_rows = std::min(matmul.n, kMaxDotSide);
  space.max_vectors = std::min(matmul.m, kMaxDotSide);
  space.fits = [&](const RegisterTile& tile) { return dot_registers(tile) <= isa.registers; };
  space.tile_cost = [&](const RegisterTile& tile) { return dot_tile_cost(machine, tile, steps); };
  return cheapest_tile(space);
}

/// True when cache lines `stride` bytes apart fall into the same few sets of L1.
bool collide(int64_t stride, int64_t count, const Machine& machine) {
  const int64_t line = machine->cache_line_bytes, ways = machine->l1_ways;
  const int64_t sets = std::max<int64_t>(1, machine->l1_bytes / (line * ways));
  std::vector<int64_t> used(static_cast<size_t>(sets), 0);
  for (int64_t i = 0; i < count; ++i)
    if (++used[static_cast<size_t>(i * stride / line % sets)] > ways / 2) return true;
  return false;
}

/// Steps of k that run at once.
int64_t choose_step(const Problem& problem, const MatmulPlanNode& plan) {
  const auto& [matmul, machine, dot, isa] = problem;
  const int64_t steps = matmul.steps();
  const int64_t even = steps <= kMaxAtOnce ? steps : ceil_div(steps, ceil_div(steps, kMaxStep));
  if (plan.by_matrix_tiles) return steps;
  if (problem.has_panels()) {
    if (matmul.is_dynamic() || matmul.m > 2 * plan.rows) return even;
    // Panels that hardly any rows share are read from beginning to end; the second tile finds them in L2.
    const int64_t in_cache = machine->l2_bytes / 2 / problem.panel_row_bytes(plan.vectors);
    return matmul.m <= plan.rows ? steps : std::clamp(in_cache, even, steps);
  }
  const int64_t b_bytes = matmul.k * matmul.n * dot.b.bytes();
  const bool is_streamed = matmul.m < kFewRows && steps > kFewSteps && b_bytes > machine->l2_bytes / 2;
  return !plan.packs_b && is_streamed ? std::min(steps, matmul.m < 4 ? kMinStep : kShortStep) : even;
}

/// What is copied into panels, and the blocks that stay in caches.
void choose_blocks(const Problem& problem, MatmulPlanNode* plan) {
  const auto& [matmul, machine, dot, isa] = problem;
  const int64_t panel = plan->vectors * plan->lanes, panels = ceil_div(matmul.n, panel), steps = matmul.steps();
  const int64_t b_bytes = matmul.k * matmul.n * dot.b.bytes();
  const bool is_transposed = !problem.has_panels() && matmul.b.column != 1;
  plan->packs_b = !problem.has_panels() && (is_transposed || matmul.copies_groups() ||
                                            (matmul.m >= kRowsForPanels && b_bytes > machine->l2_bytes / 4));
  plan->step = knob(choose_step(problem, *plan));
  const bool has_rest = matmul.k % matmul.group != 0;  // a group that sticks out is filled up with zeros
  plan->packs_a =
      !plan->by_matrix_tiles &&
      (has_rest || (matmul.a.column != 1 ? panels >= 2 : collide(matmul.a.row * dot.a.bytes(), plan->rows, machine)));
  // A block of rows of A takes a quarter of L2, with partial sums a half.
  const EvenTiles rows(matmul.m, plan->rows);
  const bool is_split = plan->step < steps;
  const int64_t budget = machine->l2_bytes / (is_split ? 2 : 4);
  auto size = [&](int64_t row_tiles, int64_t columns) {
    return row_tiles * plan->rows *
           (plan->step * matmul.group * dot.a.bytes() + (is_split ? columns * panel * dot.c.bytes() : 0));
  };
  const int64_t least_rows = std::min<int64_t>(kSharingRows, rows.tiles);
  int64_t columns = panels;
  if (is_split)
    for (int64_t parts = 2; columns > 1 && size(least_rows, columns) > budget; ++parts)
      columns = ceil_div(panels, parts);
  int64_t row_tiles = least_rows;
  while (row_tiles < rows.tiles && size(row_tiles + 1, columns) <= budget) ++row_tiles;
  plan->block_rows = knob(matmul.is_dynamic() ? 1 : ceil_div(rows.tiles, ceil_div(rows.tiles, row_tiles)));
  // Panels of B for all rows at once are used up one after the other.
  const int64_t panel_bytes = steps * problem.panel_row_bytes(plan->vectors);
  if (plan->packs_b && plan->block_rows == rows.tiles) {
    const int64_t few = std::max<int64_t>(1, machine->l2_bytes / 4 / panel_bytes);
    if (few < columns) columns = ceil_div(panels, ceil_div(panels, few));
  }
  plan->block_columns = knob(columns);
  // A cache line with each step: with fewer tiles of rows that would not be all of a panel.
  const int64_t lines = ceil_div(problem.panel_row_bytes(plan->vectors), machine->cache_line_bytes);
  const bool exceeds_l2 = problem.has_panels() ? panels * panel_bytes > machine->l2_bytes
                                               : plan->packs_b && columns * panel_bytes > machine->l2_bytes / 2;
  Prefetch prefetch = Prefetch::None;
  const bool exceeds_half = panels * panel_bytes > machine->l2_bytes / 2;
  const bool are_few = plan->block_rows < kMinMatrixSharing;
  if (plan->by_matrix_tiles) prefetch = exceeds_half && !are_few ? Prefetch::NextPanel : Prefetch::None;
  else if (exceeds_l2 && plan->block_rows >= lines) prefetch = Prefetch::NextPanel;
  else if (exceeds_l2 && problem.has_panels() && plan->block_rows > 1) prefetch = Prefetch::Ahead;
  plan->prefetch_b = static_cast<int32_t>(prefetch);
  const int64_t all_bytes = matmul.m * matmul.k * dot.a.bytes() + b_bytes + matmul.m * matmul.n * dot.c.bytes();
  plan->prefetch_result = !plan->by_matrix_tiles && !matmul.is_dynamic() &&
                          all_bytes * matmul.batch > machine->l2_bytes && steps >= kMinPrefetchSteps;
}

/// Parts of one matmul so that threads have about equal shares.
void choose_parts(const Problem& problem, MatmulPlanNode* plan) {
  const auto& [matmul, machine, dot, isa] = problem;
  plan->is_parallel = matmul.is_dynamic() || matmul.batch * matmul.m * matmul.n * matmul.k >= ParallelThreshold::matmul;
  const int64_t rows = EvenTiles(matmul.m, plan->rows).tiles;
  const int64_t columns =
      plan->by_dots ? EvenTiles(matmul.n, plan->columns).tiles : ceil_div(matmul.n, plan->vectors * plan->lanes);
  if (matmul.is_dynamic()) {  // all rows pass by the columns of a part, which stay in L2
    constexpr int64_t kMinPanels = 4;
    const int64_t panel_bytes = matmul.steps() * problem.panel_row_bytes(plan->vectors);
    const int64_t count =
        std::clamp<int64_t>(machine->l2_bytes / 2 / panel_bytes, std::min(kMinPanels, columns), columns);
    plan->parts_n = knob(ceil_div(columns, count));
    return;
  }
  if (machine->cores < 2 || !plan->is_parallel) return;
  Cheapest cheapest;
  for (int64_t m = 1; m <= std::min<int64_t>(rows, machine->cores); ++m)
    for (int64_t n = 1; n <= std::min<int64_t>(columns, machine->cores); ++n) {
      const int64_t tasks = matmul.batch * m * n, turns = ceil_div(tasks, machine->cores);
      const auto high = static_cast<double>(ceil_div(rows, m)), wide = static_cast<double>(ceil_div(columns, n));
      double share = static_cast<double>(turns) * (high * wide + TileCosts::packed_edge * (high + wide));
      if (m > 1 && plan->packs_b) share *= 1 + TileCosts::shared_panel;
      if (!cheapest.is_better(share)) continue;
      plan->parts_m = knob(m);
      plan->parts_n = knob(n);
    }
}

}  // namespace

void take_groups(Matmul* matmul, const Machine& machine) {
  const Dot* dot = dot_on(machine, matmul->a_dtype, matmul->b_dtype);
  if (dot && dot->c == matmul->dtype && matmul->b.panel == 0) matmul->group = dot->group;
}

MatmulPlan plan_matmul(const Matmul& matmul, const Machine& machine) {
  std::optional<Problem> problem = problem_of(matmul, machine);
  if (!problem) return nullptr;
  const bool has_panels = problem->has_panels(), is_plain = matmul.b.column == 1;
  const bool is_transposed = matmul.b.row == 1 || matmul.k == 1;
  if (!has_panels && !is_plain && !is_transposed) return nullptr;
  if (!has_panels && matmul.group == 1 && matmul.a_dtype != matmul.b_dtype) return nullptr;
  if (matmul.copies_groups() && (matmul.a.column != 1 || (!is_plain && matmul.b.row != 1))) return nullptr;
  if (matmul.is_dynamic() && !has_panels) return plan_dynamic_matmul(matmul, machine);
  if (matmul.is_dynamic() && matmul.a.column != 1) return nullptr;
  TileChoice outer = best_outer(*problem);
  const TileChoice matrix = best_matrix(*problem);
  const bool by_matrix = matrix.cost < outer.cost;
  if (by_matrix) outer = matrix;
  double cost = outer.cost;
  if (!has_panels && !is_plain)
    cost += TileCosts::transpose * static_cast<double>(matmul.k) *
            static_cast<double>(ceil_div(matmul.n, problem->lanes()));
  TileChoice dots;
  if (!has_panels && matmul.group == 1 && is_transposed && matmul.a.column == 1) dots = best_dots(*problem);
  if (std::min(cost, dots.cost) == TileChoice().cost) return nullptr;  // no tile fits the registers
  MatmulPlanNode plan;
  plan.by_dots = dots.cost < cost;
  plan.lanes = knob(problem->lanes());
  if (plan.by_dots) {
    plan.rows = knob(dots.tile.vectors);
    plan.columns = knob(dots.tile.rows);
    plan.step = knob(matmul.k);
    plan.rows_outside = matmul.m > matmul.n;
  } else {
    plan.by_matrix_tiles = by_matrix;
    plan.rows = knob(outer.tile.rows);
    plan.vectors = knob(outer.tile.vectors);
  }
  if (!plan.by_dots) choose_blocks(*problem, &plan);
  choose_parts(*problem, &plan);
  return make(std::move(plan));
}

std::optional<PanelLayout> plan_panels(const Machine& machine, DataType a, DataType b, DataType sum, int64_t m,
                                       int64_t n, int64_t k) {
  Matmul matmul;
  matmul.a_dtype = a, matmul.b_dtype = b, matmul.dtype = sum;
  matmul.m = m == kDynamic ? kGuessedRows : m, matmul.n = n, matmul.k = k;
  matmul.a.row = k, matmul.a.column = 1, matmul.b.panel = kAnyPanel;
  const Dot* dot = dot_on(machine, a, b);
  if (!dot || matmul.m < 1 || n < 1 || k < 1 || matmul.m * n * k < kMinPacked) return {};
  matmul.group = dot->group;
  MatmulPlan plan = plan_matmul(matmul, machine);
  return plan ? std::optional(PanelLayout{int64_t{plan->vectors} * plan->lanes, matmul.group}) : std::nullopt;
}

void check_plan(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  std::optional<Problem> problem = problem_of(matmul, machine);
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the plan of a matmul does not fit it: " << what;
  };
  require(problem.has_value(), "the machine has no instructions for its types");
  require(plan->lanes == problem->lanes(), "lanes are those of a vector");
  for (int32_t value : {plan->rows, plan->vectors, plan->columns, plan->step, plan->block_rows, plan->block_columns,
                        plan->parts_m, plan->parts_n})
    require(value >= 1, "all sizes are at least 1");
  require(!plan->by_matrix_tiles || takes_matrix_tiles(*problem), "matrix registers cannot hold its factors");
  require(!plan->by_matrix_tiles || !plan->by_dots, "tiles are of one kind");
  if (plan->by_matrix_tiles)
    require(fits_matrix_registers({plan->rows, plan->vectors}), "its tile has more sums than matrix registers hold");
  const int64_t needed = plan->by_matrix_tiles ? 0
                         : plan->by_dots       ? dot_registers({plan->rows, plan->columns})
                                               : outer_registers({plan->rows, plan->vectors});
  require(needed <= problem->isa.registers, "its tile has more sums than there are registers");
  if (matmul.is_dynamic() && !problem->has_panels()) return check_dynamic_plan(matmul, plan, machine);
  require(plan->dot_rows == 0, "rows go by dots only where they are dynamic");
  require(plan->rows <= matmul.m, "a tile has more rows than the result");
  const bool has_panels = problem->has_panels(), is_plain = has_panels || matmul.b.column == 1;
  if (plan->by_dots) {
    require(!has_panels && matmul.group == 1 && (matmul.b.row == 1 || matmul.k == 1) && matmul.a.column == 1 &&
                !matmul.is_dynamic(),
            "vectors along k need factors that lie so");
    require(plan->columns <= matmul.n, "a tile has more columns than the result");
    require(plan->parts_m <= EvenTiles(matmul.m, plan->rows).tiles, "more parts than tiles of rows");
    require(plan->parts_n <= EvenTiles(matmul.n, plan->columns).tiles, "more parts than tiles of columns");
    return;
  }
  require(!has_panels || matmul.b.panel == int64_t{plan->vectors} * plan->lanes,
          "its panels were packed by other vectors");
  require(!matmul.copies_groups() || (plan->packs_b && matmul.a.column == 1), "groups along k have to be copied");
  require(is_plain || plan->packs_b, "vectors along n of a transposed matrix have to be packed");
  require(!has_panels || !plan->packs_b, "packed panels are not packed again");
  require(matmul.k % matmul.group == 0 || plan->packs_a, "a group that sticks out has to be filled up");
  require(plan->step <= matmul.steps(), "a step is longer than k");
  require(!plan->by_matrix_tiles || (plan->step == matmul.steps() && !plan->packs_a),
          "matrix registers hold rows as they are, and all of k");
  const int64_t panels = ceil_div(matmul.n, int64_t{plan->vectors} * plan->lanes);
  require(plan->parts_n <= panels, "more parts than panels");
  if (matmul.is_dynamic())
    return require(plan->parts_m == 1 && plan->block_rows == 1, "dynamic rows are computed a tile at a time");
  require(plan->parts_m <= EvenTiles(matmul.m, plan->rows).tiles, "more parts than tiles of rows");
}

}  // namespace tessera::topi
