#include "topi/cpu/contraction/tile_plan.h"

#include <algorithm>

namespace tessera::topi {
namespace {

/// Tiles of one size.
struct Tiles {
  int64_t size, count;
};

std::vector<Tiles> covering(const TileAxis& axis, int64_t extent, int64_t size) {
  const int64_t elements = size * axis.unit, whole = extent / elements, rest = extent % elements;
  switch (axis.cover) {
    case Cover::Even: {
      const EvenTiles even(extent, size);
      return {{even.size, even.tiles}};
    }
    case Cover::Rest: return {{size, whole}, {rest, rest > 0}};
    case Cover::Filled: return {{size, ceil_div(extent, elements)}};
    case Cover::Heights:
      for (int64_t height : kTailHeights)
        if (rest <= height && height < size) return {{size, whole}, {height, rest > 0}};
      return {{size, ceil_div(extent, size)}};
    case Cover::Singles: return {{size, whole}, {1, ceil_div(rest, axis.unit)}};
    case Cover::Whole: return {{size, whole}};
  }
  return {};
}

int64_t most_of(const TileAxis& axis) { return *std::max_element(axis.extents.begin(), axis.extents.end()); }

}  // namespace

EvenTiles::EvenTiles(int64_t extent, int64_t largest) {
  tiles = ceil_div(extent, largest);
  size = ceil_div(extent, tiles);
  longer = extent - (size - 1) * tiles;
}

double TileSpace::cost(const RegisterTile& tile, int64_t stack) const {
  const auto cases = static_cast<double>(rows.extents.size() * vectors.extents.size());
  double out = 0;
  for (int64_t m : rows.extents)
    for (int64_t n : vectors.extents) {
      double all = more ? more(tile, m, n) : 0;
      for (const Tiles& high : covering(rows, m, tile.rows))
        for (const Tiles& wide : covering(vectors, n, tile.vectors))
          if (high.count > 0 && wide.count > 0)
            all += static_cast<double>(high.count * wide.count) * tile_cost({stack * high.size, wide.size});
      out += cases > 1 ? all / static_cast<double>(m * n) : all;
    }
  return out / cases * static_cast<double>(max_stack) / static_cast<double>(stack);
}

TileChoice cheapest_tile(const TileSpace& space) {
  TileChoice best;
  Cheapest cheapest(space.ties);
  auto consider = [&](RegisterTile tile, int64_t stack) {
    if (space.rows.cover == Cover::Even) tile.rows = EvenTiles(space.rows.extents[0], tile.rows).size;
    if (space.vectors.cover == Cover::Even) tile.vectors = EvenTiles(space.vectors.extents[0], tile.vectors).size;
    const RegisterTile all{stack * tile.rows, tile.vectors};
    if (space.fits(all) && cheapest.is_better(space.cost(tile, stack), all.sums()))
      best = {tile, stack, cheapest.cost()};
  };
  auto divides = [](int64_t size, const TileAxis& axis) {
    return axis.cover != Cover::Whole || axis.extents[0] % size == 0;
  };
  const int64_t all_rows = most_of(space.rows);
  for (int64_t vectors = space.min_vectors; vectors <= space.max_vectors; ++vectors) {
    if (!divides(vectors, space.vectors)) continue;
    int64_t most = std::min(space.max_rows, all_rows), first = 1;
    while (space.takes_most_rows && most > 1 && !space.fits({most, vectors})) --most;
    if (space.takes_most_rows) first = most;
    for (int64_t rows = first; rows <= most; ++rows)
      for (int64_t stack = 1; divides(rows, space.rows) && stack <= (rows == all_rows ? space.max_stack : 1); ++stack)
        if (space.max_stack % stack == 0) consider({rows, vectors}, stack);
  }
  return best;
}

std::vector<int64_t> likely_extents() { return {7, 20, 50, 96, 128, 197, 384}; }

}  // namespace tessera::topi
