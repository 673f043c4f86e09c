#include "topi/cpu/contraction/gemm_tiles.h"

#include <algorithm>
#include <cmath>

#include "runtime/registry.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/contraction/narrow_floats.h"

namespace tessera::topi {
namespace {

register_types<GemmTilesNode> types;

int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/// Sums that have to be under way at once to keep the multipliers busy: their latency times their number.
constexpr int kSumsInFlight = 8;
/// What a step of k costs beside its multiplications (the loop itself), counted in multiplications.
constexpr double kStepCost = 0.5;
/// No step of k is longer: a longer one reuses nothing more, and panels leave the TLB.
constexpr int64_t kMaxStep = 512;

struct Tile {
  int64_t mr, nr;
};

/// The tile that covers C with the least work. Work of a step of k: one multiplication a sum, or the loads of A and B where
/// they are more than two for each multiplication, and never less than the latency of a multiplication hides.
Tile best_tile(const Isa& isa, int lanes, int64_t m, int64_t n, bool widens) {
  Tile best{1, lanes};
  double least = INFINITY;
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    int64_t most = std::min<int64_t>((isa.registers - 2 - vectors) / vectors, m);
    for (int64_t mr = 1; mr <= most; ++mr) {
      double sums = double(mr * vectors), loads = double(mr + vectors);
      double step = std::max({sums, loads, double(kSumsInFlight)}) + kStepCost + (widens ? widening_work(mr) : 0);
      double work = double(ceil_div(m, mr)) * double(ceil_div(n, vectors * lanes)) * step;
      if (work < least * 0.999 || (work < least * 1.001 && mr * vectors * lanes > best.mr * best.nr)) {
        least = std::min(least, work);
        best = {mr, vectors * lanes};
      }
    }
  }
  return best;
}

/// `total` in the fewest equal steps of at most `longest`, each a multiple of `unit`; a divisor of `total` is preferred
/// where there is one not much shorter, for then nothing has to be filled up.
int64_t even_step(int64_t total, int64_t longest, int64_t unit) {
  longest = std::max(longest / unit * unit, unit);
  int64_t even = round_up(ceil_div(total, ceil_div(total, longest)), unit);
  for (int64_t step = even; step * 4 >= even * 3; step -= unit)
    if (step > 0 && total % step == 0) return step;
  for (int64_t step = even; step <= longest; step += unit)
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

GemmTiles gemm_tiles(const Machine& machine, int64_t m, int64_t n, int64_t k, DataType dtype, int threads,
                     DataType weight) {
  if (m < 1 || n < 1 || k < 1 || std::max({m, n, k}) > INT32_MAX)
    throw Error(ValueError) << "a matmul of " << m << "x" << n << "x" << k << " has no tiles";
  const Isa& isa = matmul_isa(machine, dtype);
  const Dot& dot = find_dot(isa.name, dtype, weight);
  int lanes = isa.vector_bytes / dot.c.bytes();
  Tile tile = best_tile(isa, lanes, m, n, dot.a != dot.b && dot.group == 1);
  int64_t rows = ceil_div(m, tile.mr), columns = ceil_div(n, tile.nr);
  Grid grid = thread_grid(rows, columns, threads > 0 ? threads : machine->cores);
  int64_t part_rows = ceil_div(rows, grid.m), part_columns = ceil_div(columns, grid.n);

  // A panel of B fills L1; A is read through it. Half of the second level is for the block of C and A.
  int64_t longest = std::min(kMaxStep, machine->l1_bytes / (tile.nr * dot.b.bytes()));
  int64_t kc = even_step(k, longest, dot.group);
  int64_t budget = machine->l2_bytes * 55 / 100;
  auto block_bytes = [&](int64_t mc, int64_t nc) {
    return mc * tile.mr * (nc * tile.nr * dot.c.bytes() + kc * dot.a.bytes());
  };
  // Columns first, for A is packed anew for each nc; but at least a few tiles of rows share a panel of B.
  constexpr int64_t kRowsSharingPanel = 8;
  int64_t least_rows = std::min(kRowsSharingPanel, part_rows), nc = part_columns;
  for (int64_t parts = 2; nc > 1 && block_bytes(least_rows, nc) > budget; ++parts) nc = ceil_div(part_columns, parts);
  int64_t mc = least_rows;
  while (mc < part_rows && block_bytes(mc + 1, nc) <= budget) ++mc;
  mc = ceil_div(part_rows, ceil_div(part_rows, mc));

  GemmTilesNode out;
  out.mr = int32_t(tile.mr);
  out.nr = int32_t(tile.nr);
  out.kc = int32_t(kc);
  out.mc = int32_t(mc * tile.mr);
  out.nc = int32_t(nc * tile.nr);
  out.threads_m = int32_t(grid.m);
  out.threads_n = int32_t(grid.n);
  // Whole blocks, so that no tile is computed by two threads.
  out.part_m = int32_t(round_up(part_rows, mc) * tile.mr);
  out.part_n = int32_t(round_up(part_columns, nc) * tile.nr);
  return make(std::move(out));
}

namespace {

Globals globals{{"topi.cpu.gemm_tiles", [](const Machine& machine, int64_t m, int64_t n, int64_t k, DataType dtype,
                                           int threads) { return gemm_tiles(machine, m, n, k, dtype, threads); }}};

}  // namespace
}  // namespace tessera::topi
