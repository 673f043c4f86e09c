// Which tiles wgmma multiplies: the cheapest of a few dozen by a model of the machine.

#include <algorithm>

#include "topi/cpu/cost_model.h"
#include "topi/gpu/wgmma.h"
#include "topi/gpu/wgmma_parts.h"

namespace tessera::topi {
namespace {

register_types<WgmmaPlanNode> wgmma_plan_types;

constexpr int64_t kMaxColumns = 256;               // of one wgmma
constexpr int64_t kMaxSums[] = {0, 128, 128, 64};  // registers of a thread for sums, by warp groups
constexpr int64_t kMaxBoxRows = 256;
constexpr int64_t kMinRows = 64, kMinDepth = 64;  // below, tiles would be mostly empty
constexpr double kReached = 0.85;                 // part of the peak rate that wgmma reaches in a loop
constexpr double kCacheBytes = 48;                // that a multiprocessor gets of L2 in a cycle
constexpr double kStoreBytes = 24, kTileCycles = 1500, kLaunchCycles = 2000;
constexpr double kTogether = 1.3;  // ends of tiles, where blocks of a cluster wait for each other

struct WgmmaTile {
  int32_t m, n, groups;
};
constexpr WgmmaTile kWgmmaTiles[] = {{128, 256, 2}, {256, 128, 2}, {128, 192, 2}, {128, 128, 2},
                                     {128, 64, 2},  {64, 256, 1},  {64, 128, 1},  {64, 64, 1},
                                     {128, 32, 2},  {256, 64, 2},  {192, 128, 3}};

int64_t multiprocessors_in_use(const WgmmaPlan& plan, const GpuMachine& machine) {
  return machine->multiprocessors / plan->cluster * plan->cluster;
}

bool wgmma_fits(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine) {
  const GpuContraction& c = wgmma.contraction;
  if (plan->tile_m < 1 || plan->tile_n < 1 || plan->tile_n > kMaxColumns || plan->tile_m > kMaxBoxRows ||
      plan->groups < 1 || plan->groups > kMaxMultiplyGroups || plan->stages < 2 || plan->stages > 12 ||
      plan->group < 1 || (plan->cluster != 1 && plan->cluster != 2))
    return false;
  const int64_t of_group = plan->tile_m / plan->groups, slice = plan->tile_n / plan->cluster;
  if (plan->tile_m % (kWgmmaRows * plan->groups) != 0 || plan->tile_n % kStoredColumns != 0 ||
      of_group * plan->tile_n / 128 > kMaxSums[plan->groups])
    return false;
  if (!wgmma.b.along_k && slice % wgmma.b.line() != 0) return false;
  if (wgmma.b.along_k && slice % 8 != 0) return false;
  if (plan->cluster > 1 && (c.m.known <= plan->tile_m || machine->multiprocessors < plan->cluster)) return false;
  return wgmma_shared_bytes(wgmma, plan) <= machine->dynamic_shared_bytes;
}

}  // namespace

int64_t wgmma_shared_bytes(const WgmmaContraction&, const WgmmaPlan& plan) {
  return int64_t{plan->tile_m + plan->tile_n} * kLineBytes * plan->stages + 16 * plan->stages;
}

std::optional<WgmmaContraction> as_wgmma_contraction(const GpuContraction& c, const GpuMachine& machine) {
  const DataType dtype = c.a.dtype;
  if (!machine->has_wgmma || dtype != c.b.dtype || dtype.lanes != 1 || c.is_dynamic()) return std::nullopt;
  const bool is_half = dtype.is_floating() && dtype.bits == 16 && c.sum == DataType::Float(32);
  const bool is_int8 = dtype.is_integral() && dtype.bits == 8 && c.sum == DataType::Int(32);
  const bool is_tf32 = machine->allows_tf32 && dtype == DataType::Float(32) && c.sum == DataType::Float(32);
  if (!is_half && !is_int8 && !is_tf32) return std::nullopt;
  if (c.m.known < kMinRows || c.n.known < kStoredColumns || c.k.known < kMinDepth) return std::nullopt;
  std::optional<TensorOperand> a = as_tensor_operand(c, c.a, c.m), b = as_tensor_operand(c, c.b, c.n);
  if (!a || !b || (!is_half && (!a->along_k || !b->along_k))) return std::nullopt;
  return WgmmaContraction{c, *a, *b};
}

double wgmma_cost(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine) {
  const GpuContraction& c = wgmma.contraction;
  const int64_t down = ceil_div(ceil_div(c.m.known, plan->tile_m), plan->cluster) * plan->cluster,
                tiles = std::max<int64_t>(1, c.batch.known) * down * ceil_div(c.n.known, plan->tile_n);
  const double area = double(plan->tile_m) * plan->tile_n, bytes = c.a.dtype.bytes();
  // narrow tiles wait for A, which wgmma reads once for each
  const double narrow = plan->tile_n >= 256 ? 1 : plan->tile_n >= 128 ? 0.97 : plan->tile_n >= 64 ? 0.8 : 0.5;
  const double rate = machine->matrix_fma * kReached * narrow * (plan->groups > 1 ? 1 : 0.9) * (2 / bytes);
  const double multiply = area / rate;
  const double copies = (plan->tile_m + double(plan->tile_n) / plan->cluster) * bytes / kCacheBytes;
  const double of_k = std::max(multiply, copies) + 0.1 * std::min(multiply, copies);
  const double ends = (kTileCycles + area * c.dtype.bytes() / kStoreBytes) * (plan->cluster > 1 ? kTogether : 1);
  const auto rounds = static_cast<double>(ceil_div(tiles, multiprocessors_in_use(plan, machine)));
  const double few_stages = plan->stages < 3 ? 1.2 : 1;
  return kLaunchCycles + rounds * (static_cast<double>(c.k.known) * of_k * few_stages + ends);
}

WgmmaPlan plan_wgmma(const WgmmaContraction& wgmma, const GpuMachine& machine) {
  WgmmaPlan best;
  Cheapest cheapest;
  for (const WgmmaTile& tile : kWgmmaTiles)
    for (int32_t cluster : {1, 2})
      for (int32_t stages : {8, 6, 5, 4, 3, 2}) {
        WgmmaPlanNode node;
        node.tile_m = tile.m, node.tile_n = tile.n, node.groups = tile.groups;
        node.stages = stages, node.cluster = cluster;
        WgmmaPlan plan = make(std::move(node));
        if (!wgmma_fits(wgmma, plan, machine)) continue;
        if (cheapest.is_better(wgmma_cost(wgmma, plan, machine))) best = plan;
        break;  // more stages are never worse
      }
  return best;
}

void check_wgmma_plan(const WgmmaContraction& wgmma, const WgmmaPlan& plan, const GpuMachine& machine) {
  if (!wgmma_fits(wgmma, plan, machine))
    throw Error(ScheduleError) << "the plan of a contraction by wgmma does not fit it or the machine: a warp group has "
                                  "parts of 64 rows, at most 128 "
                               << "sums for each thread (64 where there are three), columns are multiples of 32 (of 64 "
                                  "for each block of a cluster where they lie along n), and "
                               << "tiles of all stages fit " << machine->dynamic_shared_bytes
                               << " bytes of shared memory";
}

}  // namespace tessera::topi
