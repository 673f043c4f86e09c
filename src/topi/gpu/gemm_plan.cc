// Which tiles a contraction has on a GPU: the cheapest of a few dozen by a model of the machine.

#include <algorithm>
#include <cmath>

#include "ir/prim/ops.h"
#include "topi/cpu/cost_model.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/matrix_unit.h"

namespace tessera::topi {
namespace {

register_types<GemmPlanNode> gemm_plan_types;

constexpr int64_t kMinSide = 8;                              // of C: below it tiles would be empty
constexpr int64_t kGuessedSide = 1024, kGuessedDepth = 512;  // extents known only at run time
constexpr int64_t kMaxRegisters = 255;
constexpr int64_t kMaxCopies = 32;  // of a thread for one tile: each has a position, and they are registers
constexpr double kSharedBytesPerCycle = 128, kCacheBytesPerCycle = 48;  // of a multiprocessor
constexpr double kNotHidden = 0.5;   // part of what memory takes that multiply-adds do not run beside
constexpr double kReadsLate = 1.1;   // threads that do not read ahead wait for shared memory
constexpr double kFewStages = 1.04;  // where copies are one tile ahead only
constexpr double kReadCycles =
    1;  // of a multiprocessor, for each read of a warp of 4 bytes a thread; of 16 bytes twice as many
constexpr double kBarrierCycles = 40, kFillCycles = 1200;  // until the first tiles are there
constexpr double kKernelCycles = 4000;                     // of one more kernel

struct TileShape {
  int32_t m, n, part_m, part_n;
};
constexpr TileShape kThreadTiles[] = {
    {128, 128, 8, 16}, {128, 128, 8, 8}, {128, 64, 8, 8}, {64, 128, 8, 8}, {64, 64, 8, 4},
    {64, 64, 4, 4},    {64, 32, 4, 4},   {32, 64, 4, 4},  {32, 32, 4, 4},  {32, 32, 2, 2},
};
constexpr TileShape kMatrixTiles[] = {
    {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 64, 64}, {128, 128, 64, 32}, {128, 64, 64, 32},
    {64, 128, 32, 64},  {64, 64, 32, 32},   {64, 32, 32, 16},   {32, 64, 16, 32},   {32, 32, 16, 16},
};

int64_t known_or(int64_t extent, int64_t guess) { return extent < 0 ? guess : extent; }

bool has_matrix_type(const GpuContraction& c) {
  const DataType dtype = c.a.dtype;
  if (dtype != c.b.dtype || dtype.lanes != 1) return false;
  if (dtype.is_floating() && dtype.bits == 16) return c.sum == DataType::Float(32);
  const bool is_int8 = dtype.is_integral() && dtype.bits == 8 && c.sum == DataType::Int(32);
  return is_int8 && c.a.lies_along_k() && c.b.lies_along_k();
}

int64_t registers_of(const GpuContraction& c, const GemmPlanNode& plan) {
  const int64_t sums = int64_t{plan.part_m} * plan.part_n, sides = plan.part_m + plan.part_n;
  if (plan.by_matrix_units) return sums / 32 + 2 * sides * kMatrixStepBytes / 4 / 32 + 48;
  if (reads_ahead(c, make(GemmPlanNode(plan)))) return (sums + 2 * sides) * c.sum.bytes() / 4 + (sums > 64 ? 40 : 32);
  // sums, four elements of each column, addresses, and what is read ahead: with fewer, compilers read late
  const int64_t tight = sums * c.sum.bytes() / 4 + plan.part_n * c.a.dtype.bytes() + 64;
  return plan.blocks > 1 ? tight : tight + plan.part_m * c.a.dtype.bytes() + 32;
}

int64_t blocks_at_once(const GpuContraction& c, const GemmPlan& plan, const GpuMachine& machine) {
  const int64_t threads = plan->threads(), shared = gemm_shared_bytes(c, plan);
  const int64_t registers = ceil_div(registers_of(c, *plan.get()), 8) * 8 * threads;
  return std::min({machine->registers / registers, machine->multiprocessor_shared_bytes / std::max<int64_t>(1, shared),
                   machine->multiprocessor_threads / threads, int64_t{8}});
}

/// What a plan does not say by its tile: how it copies, and how far ahead.
void set_copies(const GpuContraction& c, const GpuMachine& machine, GemmPlanNode* plan) {
  const bool has_memory = c.a.flat && c.b.flat && !c.is_dynamic();
  const GemmPlan given = make(GemmPlanNode(*plan));
  auto lanes = [&](const GemmOperand& operand, const GemmAxes& rows, int64_t line) {
    int64_t out = has_memory && !turns(operand, rows, given) ? operand.lanes() : 1;
    while (line % out != 0) out /= 2;
    return static_cast<int32_t>(out);
  };
  plan->a_lanes = lanes(c.a, c.m, c.a.lies_along_k() ? plan->tile_k : plan->tile_m);
  plan->b_lanes = lanes(c.b, c.n, c.b.lies_along_k() ? plan->tile_k : plan->tile_n);
  plan->copies_async = machine->has_matrix_units && has_memory;
  plan->stores_wide = plan->by_matrix_units && wide_store_lanes(c) > 1;
  if (plan->by_matrix_units || machine->kind != "cuda") return;
  for (int32_t blocks : {4, 3, 2}) {
    GemmPlanNode with = *plan;
    with.blocks = blocks;
    if (registers_of(c, with) * with.threads() * blocks <= machine->registers) return plan->blocks = blocks, void();
  }
}

/// Tiles along m that follow each other: as many in each group where they can be, so that indices are divided by constants.
int32_t group_of(const GpuContraction& c, const GemmPlanNode& plan) {
  constexpr int32_t kGroup = 8, kMin = 5, kMax = 12;
  if (c.m.known < 0) return kGroup;
  const int64_t down = ceil_div(c.m.known, plan.tile_m);
  if (down <= kMax) return static_cast<int32_t>(down);
  for (int32_t by = 0; kGroup + by <= kMax; ++by)
    for (int32_t group : {kGroup + by, kGroup - by})
      if (group >= kMin && down % group == 0) return group;
  return kGroup;
}

/// Copies of a thread for one tile of both factors.
int64_t copies_of_thread(const GemmPlanNode& plan) {
  auto copies = [&](int64_t rows, int64_t lanes) { return ceil_div(rows * plan.tile_k, plan.threads() * lanes); };
  return copies(plan.tile_m, plan.a_lanes) + copies(plan.tile_n, plan.b_lanes);
}

/// Parts of k of as many tiles each, by multiply-adds of threads.
bool may_divide_k(const GpuContraction& c, const GemmPlanNode& plan) {
  constexpr int64_t kMaxParts = 64;
  if (c.is_dynamic() || plan.by_matrix_units || plan.parts > kMaxParts) return false;
  const int64_t results = c.batch.known * c.m.known * c.n.known;
  return ceil_div(c.k.known, plan.tile_k) % plan.parts == 0 && results <= INT32_MAX / plan.parts;
}

bool fits(const GpuContraction& c, const GemmPlan& plan, const GpuMachine& machine) {
  auto is_positive = [](std::initializer_list<int64_t> all) {
    return std::all_of(all.begin(), all.end(), [](int64_t n) { return n > 0; });
  };
  if (!is_positive({plan->tile_m, plan->tile_n, plan->tile_k, plan->stages, plan->part_m, plan->part_n, plan->group,
                    plan->a_lanes, plan->b_lanes, plan->blocks, plan->parts}) ||
      plan->tile_m > 512 || plan->tile_n > 512 || plan->tile_k > 512 || plan->stages > 16 || plan->blocks > 16)
    return false;
  if (plan->tile_m % plan->part_m != 0 || plan->tile_n % plan->part_n != 0 || c.a.dtype != c.b.dtype) return false;
  const int64_t threads = plan->threads();
  if (threads > machine->max_threads || threads * plan->blocks * registers_of(c, *plan.get()) > machine->registers ||
      registers_of(c, *plan.get()) > kMaxRegisters)
    return false;
  auto has_lanes = [&](const SharedTile& tile, int32_t given, const GemmOperand& operand) {
    const bool is_copied_whole = given == 1 || (operand.flat && !c.is_dynamic());
    return is_copied_whole && operand.lanes() % given == 0 && tile.line() % given == 0;
  };
  if (!has_lanes(tile_of_a(c, plan), plan->a_lanes, c.a) || !has_lanes(tile_of_b(c, plan), plan->b_lanes, c.b))
    return false;
  if (plan->copies_async && (!machine->has_matrix_units || !c.a.flat || !c.b.flat || c.is_dynamic())) return false;
  if (plan->stages > 1 && !machine->has_matrix_units) return false;
  if (plan->parts > 1 && !may_divide_k(c, *plan.get())) return false;
  const int64_t shared = gemm_shared_bytes(c, plan);
  if (shared > machine->dynamic_shared_bytes) return false;
  if (plan->turns && (plan->by_matrix_units || !plan->copies_async)) return false;
  if (plan->stores_wide && (!plan->by_matrix_units || wide_store_lanes(c) == 1)) return false;
  if (!plan->by_matrix_units) return true;
  const int64_t step = kMatrixStepBytes / c.a.dtype.bytes();
  return machine->has_matrix_units && has_matrix_type(c) && plan->stages > 1 && plan->part_m % kMatrixRows == 0 &&
         plan->part_n % (2 * kMatrixColumns) == 0 && plan->tile_k % (2 * step) == 0 &&
         (plan->tile_k & (plan->tile_k - 1)) == 0 && (plan->tile_m & (plan->tile_m - 1)) == 0 &&
         (plan->tile_n & (plan->tile_n - 1)) == 0;
}

}  // namespace

double gemm_cost(const GpuContraction& c, const GemmPlan& plan, const GpuMachine& machine) {
  const int64_t m = known_or(c.m.known, kGuessedSide), n = known_or(c.n.known, kGuessedSide),
                k = known_or(c.k.known, kGuessedDepth), batch = known_or(c.batch.known, 1);
  const int64_t tiles = batch * ceil_div(m, plan->tile_m) * ceil_div(n, plan->tile_n) * plan->parts;
  const double bytes = c.a.dtype.bytes(), area = double(plan->tile_m) * plan->tile_n;
  const double warps = static_cast<double>(ceil_div(plan->threads(), 32));
  const int64_t at_once = std::max<int64_t>(1, blocks_at_once(c, plan, machine));
  double rate = machine->fma / std::max(1, c.sum.bytes() / 4), reads = 0;  // shared memory, bytes for each k
  if (plan->by_matrix_units) {
    rate = machine->matrix_fma * 0.6 * (bytes == 1 ? 2 : 1);  // what mma.sync reaches
    reads = warps * (plan->part_m + plan->part_n) * bytes;
  } else {
    auto cycles = [](int64_t part) { return kReadCycles * (part % 4 == 0 ? static_cast<double>(part) / 2 : part); };
    reads = warps * (cycles(plan->part_m) + cycles(plan->part_n)) * kSharedBytesPerCycle;
  }
  const double of_cache = (plan->tile_m + plan->tile_n) * bytes / kCacheBytesPerCycle;
  double each = area / rate + kNotHidden * (reads / kSharedBytesPerCycle + of_cache);
  if (!plan->by_matrix_units && !reads_ahead(c, plan)) each *= kReadsLate;
  if (!plan->by_matrix_units && plan->stages == 2) each *= kFewStages;
  // few warps do not hide what one of them waits for
  const double stores = area * c.dtype.bytes() / kCacheBytesPerCycle;
  const double depth = static_cast<double>(k) / plan->parts;
  // partial sums are written and read, by a kernel of its own
  const double moved = static_cast<double>(batch * m * n) * plan->parts * c.sum.bytes() * 2 / machine->multiprocessors,
               adding = plan->parts > 1 ? kKernelCycles + moved / kCacheBytesPerCycle : 0;
  /// Of `blocks` tiles at once on a multiprocessor that has registers for `room`, for each of them.
  auto of_tile = [&](int64_t blocks, int64_t room) {
    const auto count = static_cast<double>(room);
    const double busy = std::min(1.0, warps * static_cast<double>(blocks) / 8);
    // what is read ahead covers a barrier
    const double barriers =
        reads_ahead(c, plan) ? 0 : kBarrierCycles / (plan->tile_k * count * (plan->stages > 1 ? 1 : 0.25));
    return depth * (each / (0.4 + 0.6 * busy) + barriers) + (kFillCycles + stores) / count;
  };
  if (plan->by_matrix_units) {
    const int64_t waves = ceil_div(tiles, machine->multiprocessors);
    return static_cast<double>(waves) * of_tile(std::min(at_once, waves), at_once);
  }
  // whole rounds, and one of fewer tiles
  const int64_t round = at_once * machine->multiprocessors, rest = ceil_div(tiles % round, machine->multiprocessors);
  auto together = [&](int64_t blocks) { return static_cast<double>(blocks) * of_tile(blocks, blocks); };
  const int64_t rounds = tiles / round;
  return static_cast<double>(rounds) * together(at_once) + (rest > 0 ? together(rest) : 0) + adding;
}

namespace {

/// Turned tiles are copied by 4 bytes: of large parts there are few copies for each multiply-add. Rows beyond the last would each have a
/// condition.
bool pays_to_turn(const GpuContraction& c, const TileShape& tile) {
  constexpr int32_t kPart = 8;
  return tile.part_m >= kPart && tile.part_n >= kPart && c.m.known >= tile.m;
}

}  // namespace

GemmPlan plan_gemm(const GpuContraction& c, const GpuMachine& machine) {
  auto is_short = [](const GemmAxes& axes) { return axes.known >= 0 && axes.known < kMinSide; };
  if (is_short(c.m) || is_short(c.n) || c.a.dtype != c.b.dtype) return nullptr;
  GemmPlan best;
  Cheapest cheapest;
  auto consider_one = [&](const GemmPlanNode& plan) {
    GemmPlan made = make(GemmPlanNode(plan));
    if (fits(c, made, machine) && cheapest.is_better(gemm_cost(c, made, machine))) best = made;
  };
  auto consider = [&](GemmPlanNode plan) {
    set_copies(c, machine, &plan);
    plan.group = group_of(c, plan);
    if (!plan.by_matrix_units && copies_of_thread(plan) > kMaxCopies) return;
    consider_one(plan);
    const int64_t tiles = known_or(c.batch.known, 1) * ceil_div(known_or(c.m.known, kGuessedSide), plan.tile_m) *
                          ceil_div(known_or(c.n.known, kGuessedSide), plan.tile_n);
    const int64_t along_k = ceil_div(known_or(c.k.known, kGuessedDepth), plan.tile_k);
    for (plan.parts = 2;
         plan.copies_async && tiles * plan.parts <= 2 * machine->multiprocessors && plan.parts * plan.stages <= along_k;
         ++plan.parts)
      consider_one(plan);
  };
  if (machine->has_matrix_units && has_matrix_type(c)) {
    const int32_t step = static_cast<int32_t>(kMatrixStepBytes / c.a.dtype.bytes());
    for (const TileShape& tile : kMatrixTiles)
      for (int32_t depth : {4 * step, 2 * step})
        for (int32_t stages : {3, 4, 2})
          consider({.by_matrix_units = true,
                    .tile_m = tile.m,
                    .tile_n = tile.n,
                    .tile_k = depth,
                    .stages = stages,
                    .part_m = tile.part_m,
                    .part_n = tile.part_n});
    if (best) return best;
  }
  for (const TileShape& tile : kThreadTiles)
    for (int32_t depth : {16, 32, 8})
      for (int32_t stages : {3, 2, 1})
        for (bool turns : {true, false})
          if ((stages > 1) == machine->has_matrix_units && (!turns || (stages > 1 && pays_to_turn(c, tile))))
            consider({.tile_m = tile.m,
                      .tile_n = tile.n,
                      .tile_k = depth,
                      .stages = stages,
                      .part_m = tile.part_m,
                      .part_n = tile.part_n,
                      .turns = turns});
  return best;
}

void check_gemm_plan(const GpuContraction& c, const GemmPlan& plan, const GpuMachine& machine) {
  if (!fits(c, plan, machine))
    throw Error(ScheduleError)
        << "the plan of a contraction does not fit it or the machine: parts divide tiles, tiles of all "
        << "stages fit " << machine->dynamic_shared_bytes << " bytes of shared memory, and matrix "
        << "units take powers of two, parts of 16 x 16 and two steps along k";
}

Stmt gemm_nest(const GpuContraction& contraction, const GemmPlan& plan) {
  return plan->by_matrix_units ? matrix_unit_gemm_nest(contraction, plan) : thread_gemm_nest(contraction, plan);
}

}  // namespace tessera::topi
