#pragma once
// The planner of register tiles: every contraction (matmuls of fixed and of dynamic extents, convolutions, attention) describes
// what its tiles have to cover, and takes the cheapest tile by the cost model.

#include <functional>
#include <vector>

#include "topi/cpu/cost_model.h"

namespace tessera::topi {

/// How tiles of some size cover an axis.
enum class Cover {
  Even,     // by as few tiles as can be, which differ by one at most (EvenTiles)
  Rest,     // the last one has what is left
  Filled,   // the last one sticks out
  Heights,  // the last one has the next larger of kTailHeights, or sticks out
  Singles,  // what fills no tile is covered by tiles of 1
  Whole,    // there is nothing left: tiles are divisors
};
/// Heights of a last tile of dynamic rows, beside the whole one: each is code of its own.
inline constexpr int64_t kTailHeights[] = {1, 4};

/// An axis in tiles that differ by one at most: the first `longer` have `size` elements, the rest one less.
struct EvenTiles {
  int64_t tiles = 1, size = 1, longer = 1;

  EvenTiles(int64_t extent, int64_t largest);
  bool is_even() const { return longer == tiles; }
};

/// A dimension of the result: rows, or pixels, whose elements of A are broadcast; or vectors along the columns (where vectors lie
/// along k, columns).
struct TileAxis {
  std::vector<int64_t> extents;  // one, or where it is dynamic some that are likely
  Cover cover = Cover::Rest;
  int64_t unit = 1;  // elements that one of a tile has, in which extents are given
};

/// What tiles of a contraction have to cover, and which there are.
struct TileSpace {
  TileAxis rows, vectors;
  int64_t max_rows = 1, min_vectors = 1, max_vectors = 1;
  bool takes_most_rows = false;  // those that fit, and no fewer
  int64_t max_stack = 1;         // rows of pixels, of which a tile may have several, a divisor, if it has all of each
  std::function<bool(const RegisterTile&)> fits;         // the registers
  std::function<double(const RegisterTile&)> tile_cost;  // of one tile
  /// What else tiles of that size cost for so many rows and columns; may be null.
  std::function<double(const RegisterTile&, int64_t rows, int64_t columns)> more = nullptr;
  Ties ties = Ties::First;

  /// The cost of covering the result by tiles of that size; where several extents are likely, the mean of the cost of an element.
  double cost(const RegisterTile& tile, int64_t stack = 1) const;
};

struct TileChoice {
  RegisterTile tile;  // its rows are those of one row of pixels
  int64_t stack = 1;
  double cost = Cheapest().cost();  // infinite where no tile fits
};
TileChoice cheapest_tile(const TileSpace& space);

/// Extents that a dynamic axis is planned for.
std::vector<int64_t> likely_extents();

}  // namespace tessera::topi
