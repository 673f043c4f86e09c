#include "topi/cpu/contraction/gemm_tiles.h"

#include <algorithm>
#include <cmath>

#include "runtime/registry.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/contraction/tile_plan.h"

namespace tessera::topi {
namespace {

register_types<GemmTilesNode> types;

int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/// No step of k is longer: a longer one reuses nothing more, and panels leave the TLB.
constexpr int64_t kMaxStep = 512;
constexpr int64_t kMaxVectors = 4;

/// The cheapest tile that covers C.
RegisterTile best_tile(const Machine& machine, const Isa& isa, int lanes, int64_t m, int64_t n) {
  TileSpace space{.rows = {{m}, Cover::Filled}, .vectors = {{n}, Cover::Filled, lanes}};
  space.max_rows = isa.registers;
  space.max_vectors = kMaxVectors;
  space.fits = [&](const RegisterTile& tile) { return outer_registers(tile) <= isa.registers; };
  space.tile_cost = [&](const RegisterTile& tile) { return step_cost(machine, tile); };
  space.ties = Ties::Larger;
  return cheapest_tile(space).tile;
}

/// `total` in as few equal steps as `max_step` allows, each a multiple of `unit`; a divisor of `total` is preferred
/// where there is one not much shorter, for then nothing has to be filled up.
int64_t even_step(int64_t total, int64_t max_step, int64_t unit) {
  max_step = std::max(max_step / unit * unit, unit);
  int64_t even = round_up(ceil_div(total, ceil_div(total, max_step)), unit);
  for (int64_t step = even; step * 4 >= even * 3; step -= unit)
    if (step > 0 && total % step == 0) return step;
  for (int64_t step = even; step <= max_step; step += unit)
    if (total % step == 0) return step;
  return even;
}

struct Grid {
  int64_t m, n;
};

/// Threads over the tiles of C so that the largest share is smallest; among equals columns are divided rather than rows,
/// for each thread then packs panels of B that no other needs.
Grid thread_grid(int64_t rows, int64_t columns, int64_t threads) {
  Grid best{1, 1};
  double least = INFINITY;
  for (int64_t n = 1; n <= std::min(threads, columns); ++n) {
    int64_t m = std::min(threads / n, rows);
    double share = double(ceil_div(rows, m) * ceil_div(columns, n));
    // Every thread packs the rows and the columns it needs: the squarer its part, the less.
    double packing = double(ceil_div(rows, m) + ceil_div(columns, n)) * (m > 1 ? 0.05 : 0.04);
    if (share + packing < least - 1e-9) {
      least = share + packing;
      best = {m, n};
    }
  }
  return best;
}

}  // namespace

GemmTiles gemm_tiles(const Machine& machine, int64_t m, int64_t n, int64_t k, DataType dtype, int threads) {
  if (m < 1 || n < 1 || k < 1 || std::max({m, n, k}) > INT32_MAX)
    throw Error(ValueError) << "a matmul of " << m << "x" << n << "x" << k << " has no tiles";
  const Isa& isa = matmul_isa(machine, dtype);
  const Dot& dot = find_dot(isa.name, dtype);
  int lanes = isa.vector_bytes / dot.c.bytes();
  const RegisterTile tile = best_tile(machine, isa, lanes, m, n);
  const int64_t mr = tile.rows, nr = tile.vectors * lanes;
  int64_t rows = ceil_div(m, mr), columns = ceil_div(n, nr);
  Grid grid = thread_grid(rows, columns, threads > 0 ? threads : machine->cores);
  int64_t part_rows = ceil_div(rows, grid.m), part_columns = ceil_div(columns, grid.n);

  // A panel of B fills L1; A is read through it. Half of L2 is for the block of C and A.
  int64_t max_step = std::min(kMaxStep, machine->l1_bytes / (nr * dot.b.bytes()));
  int64_t kc = even_step(k, max_step, dot.group);
  int64_t budget = machine->l2_bytes * 55 / 100;
  auto block_bytes = [&](int64_t mc, int64_t nc) { return mc * mr * (nc * nr * dot.c.bytes() + kc * dot.a.bytes()); };
  // Columns first, for A is packed anew for each nc; but at least a few tiles of rows share a panel of B.
  constexpr int64_t kRowsSharingPanel = 8;
  int64_t least_rows = std::min(kRowsSharingPanel, part_rows), nc = part_columns;
  for (int64_t parts = 2; nc > 1 && block_bytes(least_rows, nc) > budget; ++parts) nc = ceil_div(part_columns, parts);
  int64_t mc = least_rows;
  while (mc < part_rows && block_bytes(mc + 1, nc) <= budget) ++mc;
  mc = ceil_div(part_rows, ceil_div(part_rows, mc));

  GemmTilesNode out;
  out.mr = int32_t(mr);
  out.nr = int32_t(nr);
  out.kc = int32_t(kc);
  out.mc = int32_t(mc * mr);
  out.nc = int32_t(nc * nr);
  out.threads_m = int32_t(grid.m);
  out.threads_n = int32_t(grid.n);
  // Whole blocks, so that no tile is computed by two threads.
  out.part_m = int32_t(round_up(part_rows, mc) * mr);
  out.part_n = int32_t(round_up(part_columns, nc) * nr);
  return make(std::move(out));
}

namespace {

Globals globals{{"topi.cpu.gemm_tiles", gemm_tiles}};

}  // namespace
}  // namespace tessera::topi
