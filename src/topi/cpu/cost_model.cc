#include "topi/cpu/cost_model.h"

#include <algorithm>

namespace tessera::topi {
namespace {

/// What a step of a loop costs beside its multiply-adds.
constexpr double kLoopCost = 0.5;
/// Conversions find room between so many broadcasts of the other factor.
constexpr int64_t kMaxFreeWidening = 9;
constexpr double kWidenCost = 2.2;

}  // namespace

int64_t max_tile_rows(int64_t vectors, int64_t registers) {
  return std::max<int64_t>(0, (registers - outer_registers({0, vectors})) / vectors);
}

double step_cost(const Machine& machine, const RegisterTile& tile) {
  const int64_t loads = tile.rows + tile.vectors, in_flight = machine->sums_in_flight;
  return static_cast<double>(std::max({tile.sums(), loads, in_flight})) + kLoopCost;
}

double widen_cost(const RegisterTile& tile) { return tile.rows > kMaxFreeWidening ? kWidenCost : 0; }

double cover_cost(int64_t extent, int64_t size, const std::function<double(int64_t size)>& cost_of) {
  const int64_t whole = extent / size, rest = extent % size;
  return static_cast<double>(whole) * cost_of(size) + (rest > 0 ? cost_of(rest) : 0);
}

double cached_tile_cost(const Machine& machine, const RegisterTile& tile, int64_t steps, bool widens) {
  const double step = step_cost(machine, tile) + (widens ? widen_cost(tile) : 0);
  return step * static_cast<double>(steps) + TileCosts::tile + TileCosts::store * static_cast<double>(tile.sums());
}

double outer_tile_cost(const Machine& machine, const RegisterTile& tile, int64_t steps, bool widens) {
  constexpr double kLineElements = 16;  // of A; of B a vector is one
  const double lines =
      TileCosts::cache_line * (static_cast<double>(tile.vectors) + static_cast<double>(tile.rows) / kLineElements);
  return cached_tile_cost(machine, tile, steps, widens) + lines * static_cast<double>(steps);
}

double dot_tile_cost(const Machine& machine, const RegisterTile& tile, int64_t steps) {
  const double lines = TileCosts::cache_line * static_cast<double>(tile.rows + tile.vectors);
  return (step_cost(machine, tile) + lines) * static_cast<double>(steps) +
         TileCosts::lane_sum * static_cast<double>(tile.sums()) + TileCosts::tile;
}

bool Cheapest::is_better(double cost, int64_t sums) {
  const bool is_less = cost < least_ * 0.999, is_equal = cost < least_ * 1.001;
  if (!is_less && !(ties_ == Ties::Larger && is_equal && sums > most_)) return false;
  least_ = std::min(least_, cost);
  most_ = sums;
  return true;
}

}  // namespace tessera::topi
