#include "topi/cpu/contraction/matmul_plan.h"

#include <algorithm>
#include <cmath>

namespace tessera::topi {
namespace {

/// Sums that have to be under way at once to keep the multipliers busy: their latency times their number.
constexpr int64_t kSumsInFlight = 8;
/// What a step of a tile costs beside its multiplications (the loop itself), counted in multiplications.
constexpr double kStepCost = 0.5;
/// What a line of memory costs that comes from the second-level cache.
constexpr double kLineCost = 0.12;
/// What a tile costs beside its steps: sums are cleared and stored, and the pipeline runs empty.
constexpr double kTileCost = 24;
/// What the sum of the lanes of a vector costs.
constexpr double kLaneSumCost = 5;
/// Moving a vector into a panel, as it lies or transposed.
constexpr double kCopyCost = 2.5, kTransposeCost = 5;
/// Steps of k in which lines of the result come from memory.
constexpr int64_t kMinToWaitFor = 64;
constexpr int64_t kMaxDotSide = 8;
/// Up to here k runs at once; above it in steps.
constexpr int64_t kMaxAtOnce = 1024, kMaxStep = 512;
/// Rows that have to read a panel of B before copying it pays.
constexpr int64_t kRowsForPanels = 288;
/// With fewer rows than the first, B comes from memory faster than it is used: a few rows of it are read to their ends, as
/// many as the second, or as the last where there are hardly any sums.
constexpr int64_t kFewRows = 40, kShortStep = 16, kMinStep = 8;
/// Rows of B that all may be read side by side.
constexpr int64_t kFewSteps = 256;
constexpr int64_t kLine = 64, kWays = 8;  // of L1 caches
/// Below so many steps a second thread costs more than it brings.
constexpr int64_t kThreadSteps = 1 << 16;

struct Choice {
  MatmulPlan plan;
  double cost = INFINITY;
};

double step_work(int64_t sums, int64_t loads) {
  return static_cast<double>(std::max({sums, loads, kSumsInFlight})) + kStepCost;
}

/// The tile with the least work of those that fit the registers.
Choice best_outer(const Matmul& matmul, const Machine& machine, int64_t lanes) {
  const int64_t all = ceil_div(matmul.n, lanes);
  Choice best;
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(all, machine->vector_registers); ++vectors) {
    const int64_t most = (machine->vector_registers - 2 - vectors) / vectors;
    if (most < 1) break;
    Cuts rows = Cuts::even(matmul.m, most);
    auto panel = [&](int64_t width) {
      const double lines = kLineCost * (static_cast<double>(width) + static_cast<double>(rows.size) / 16);
      const double steps = (step_work(rows.size * width, rows.size + width) + lines) * static_cast<double>(matmul.k);
      return static_cast<double>(rows.tiles) * (steps + kTileCost + 2.0 * static_cast<double>(rows.size * width));
    };
    const int64_t whole = all / vectors, left = all % vectors;
    double cost = static_cast<double>(whole) * panel(vectors);
    if (left > 0) cost += panel(left);
    if (cost >= best.cost * 0.999) continue;
    best.cost = cost;
    best.plan.rows = rows;
    best.plan.vectors = vectors;
  }
  best.plan.kind = MatmulKind::Outer;
  best.plan.lanes = lanes;
  return best;
}

Choice best_dot(const Matmul& matmul, const Machine& machine, int64_t lanes) {
  Choice best;
  const auto steps = static_cast<double>(ceil_div(matmul.k, lanes));
  for (int64_t high = 1; high <= std::min(matmul.m, kMaxDotSide); ++high)
    for (int64_t wide = 1; wide <= std::min(matmul.n, kMaxDotSide); ++wide) {
      if (high * wide + std::min(high, wide) + 2 > machine->vector_registers) continue;
      Cuts rows = Cuts::even(matmul.m, high), columns = Cuts::even(matmul.n, wide);
      const int64_t sums = rows.size * columns.size, loads = rows.size + columns.size;
      double tile = (step_work(sums, loads) + kLineCost * static_cast<double>(loads)) * steps +
                    kLaneSumCost * static_cast<double>(sums) + kTileCost;
      double cost = tile * static_cast<double>(rows.tiles * columns.tiles);
      if (cost >= best.cost * 0.999) continue;
      best.cost = cost;
      best.plan.rows = rows;
      best.plan.columns = columns;
    }
  best.plan.kind = MatmulKind::Dot;
  best.plan.lanes = lanes;
  best.plan.step = matmul.k;
  best.plan.rows_outside = matmul.m > matmul.n;
  return best;
}

/// True when lines of memory `stride` bytes apart fall into the same few sets of an L1 cache.
bool collide(int64_t stride, int64_t count, const Machine& machine) {
  const int64_t sets = machine->l1_bytes / (kLine * kWays);
  std::vector<int64_t> used(static_cast<size_t>(sets), 0);
  for (int64_t i = 0; i < count; ++i)
    if (++used[static_cast<size_t>(i * stride / kLine % sets)] > kWays / 2) return true;
  return false;
}

/// What is copied into panels, and the blocks that stay in caches.
void choose_blocks(const Matmul& matmul, const Machine& machine, MatmulPlan* plan) {
  const int64_t bytes = matmul.dtype.bytes(), panel = plan->vectors * plan->lanes;
  const int64_t panels = ceil_div(matmul.n, panel);
  const int64_t b_bytes = matmul.k * matmul.n * bytes;
  const bool is_transposed = matmul.b.column != 1;
  plan->packs_b = is_transposed || (matmul.m >= kRowsForPanels && b_bytes > machine->l2_bytes / 4);
  plan->step = matmul.k <= kMaxAtOnce ? matmul.k : ceil_div(matmul.k, ceil_div(matmul.k, kMaxStep));
  if (!plan->packs_b && matmul.m < kFewRows && matmul.k > kFewSteps && b_bytes > machine->l2_bytes / 2)
    plan->step = std::min(matmul.k, matmul.m < 4 ? kMinStep : kShortStep);
  plan->packs_a = matmul.a.column != 1 ? panels >= 2 : collide(matmul.a.row * bytes, plan->rows.size, machine);
  // A block of rows of A takes a quarter of the second level, with sums that wait a half.
  const bool waits = plan->step < matmul.k;
  const int64_t tile_rows = plan->rows.size, budget = machine->l2_bytes / (waits ? 2 : 4);
  auto size = [&](int64_t rows, int64_t columns) {
    return rows * tile_rows * (plan->step + (waits ? columns * panel : 0)) * bytes;
  };
  const int64_t least_rows = std::min<int64_t>(8, plan->rows.tiles);
  int64_t columns = panels;
  if (waits)
    for (int64_t parts = 2; columns > 1 && size(least_rows, columns) > budget; ++parts)
      columns = ceil_div(panels, parts);
  int64_t rows = least_rows;
  while (rows < plan->rows.tiles && size(rows + 1, columns) <= budget) ++rows;
  plan->block_rows = ceil_div(plan->rows.tiles, ceil_div(plan->rows.tiles, rows));
  // Panels of B for all rows at once are used up one after the other.
  if (plan->packs_b && plan->block_rows == plan->rows.tiles) {
    const int64_t few = std::max<int64_t>(1, machine->l2_bytes / 4 / (matmul.k * panel * bytes));
    if (few < columns) columns = ceil_div(panels, ceil_div(panels, few));
  }
  plan->block_columns = columns;
  // A line with each step: with fewer tiles of rows that would not be all of a panel.
  plan->b_is_far = plan->packs_b && columns * matmul.k * panel * bytes > machine->l2_bytes / 2 &&
                   plan->block_rows >= ceil_div(panel * bytes, kLine);
  plan->result_is_far =
      (matmul.m * matmul.k + matmul.k * matmul.n + matmul.m * matmul.n) * matmul.batch * bytes > machine->l2_bytes &&
      matmul.k >= kMinToWaitFor;
}

/// Parts of one matmul so that threads have about equal shares.
void choose_parts(const Matmul& matmul, const Machine& machine, MatmulPlan* plan) {
  plan->is_parallel = matmul.batch * matmul.m * matmul.n * matmul.k >= kThreadSteps;
  if (machine->cores < 2 || !plan->is_parallel) return;
  const int64_t rows = plan->rows.tiles;
  const int64_t columns =
      plan->kind == MatmulKind::Dot ? plan->columns.tiles : ceil_div(matmul.n, plan->vectors * plan->lanes);
  double least = INFINITY;
  for (int64_t m = 1; m <= std::min<int64_t>(rows, machine->cores); ++m)
    for (int64_t n = 1; n <= std::min<int64_t>(columns, machine->cores); ++n) {
      const int64_t tasks = matmul.batch * m * n, turns = ceil_div(tasks, machine->cores);
      const int64_t high = ceil_div(rows, m), wide = ceil_div(columns, n);
      double share =
          static_cast<double>(turns) * (static_cast<double>(high * wide) + 0.04 * static_cast<double>(high + wide));
      if (m > 1 && plan->packs_b) share *= 1.02;
      if (share >= least * 0.999) continue;
      least = share;
      plan->parts_m = m;
      plan->parts_n = n;
    }
}

}  // namespace

Cuts Cuts::even(int64_t extent, int64_t largest) {
  Cuts out;
  out.tiles = ceil_div(extent, largest);
  out.size = ceil_div(extent, out.tiles);
  out.longer = extent - (out.size - 1) * out.tiles;
  return out;
}

std::optional<MatmulPlan> plan_matmul(const Matmul& matmul, const Machine& machine) {
  const int64_t lanes = machine->vector_bytes / matmul.dtype.bytes();
  if (machine->isa.empty() || lanes < 2) return {};
  const bool is_plain = matmul.b.column == 1, is_transposed = matmul.b.row == 1 || matmul.k == 1;
  if (!is_plain && !is_transposed) return {};
  Choice outer = best_outer(matmul, machine, lanes), dot;
  if (!is_plain)
    outer.cost += kTransposeCost * static_cast<double>(matmul.k) * static_cast<double>(ceil_div(matmul.n, lanes));
  if (is_transposed && matmul.a.column == 1) dot = best_dot(matmul, machine, lanes);
  MatmulPlan plan = dot.cost < outer.cost ? dot.plan : outer.plan;
  if (plan.kind == MatmulKind::Outer) choose_blocks(matmul, machine, &plan);
  choose_parts(matmul, machine, &plan);
  plan.zips = zips_vectors(machine);
  return plan;
}

}  // namespace tessera::topi
