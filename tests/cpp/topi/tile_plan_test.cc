#include "topi/cpu/contraction/tile_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::topi {
namespace {

/// A tile costs its rows times its vectors, so that a cover costs the elements that it computes.
TileSpace elements(TileAxis rows, TileAxis vectors) {
  TileSpace out{.rows = std::move(rows), .vectors = std::move(vectors)};
  out.max_rows = 8;
  out.max_vectors = 4;
  out.fits = [](const RegisterTile& tile) { return tile.sums() <= 24; };
  out.tile_cost = [](const RegisterTile& tile) { return static_cast<double>(tile.sums()); };
  return out;
}

TEST(TilePlan, EachCoverComputesWhatItSays) {
  auto cost = [](Cover cover, int64_t extent, int64_t size) {
    return elements({{extent}, cover}, {{1}, Cover::Rest}).cost({size, 1});
  };
  EXPECT_EQ(cost(Cover::Rest, 22, 8), 22);
  EXPECT_EQ(cost(Cover::Filled, 22, 8), 24);
  EXPECT_EQ(cost(Cover::Even, 22, 8), 3 * 8);
  EXPECT_EQ(cost(Cover::Even, 21, 8), 3 * 7);
  EXPECT_EQ(cost(Cover::Heights, 17, 8), 16 + 1);
  EXPECT_EQ(cost(Cover::Heights, 19, 8), 16 + 4);
  EXPECT_EQ(cost(Cover::Heights, 22, 8), 24);
  EXPECT_EQ(cost(Cover::Singles, 22, 8), 22);
  EXPECT_EQ(cost(Cover::Whole, 16, 8), 16);
}

TEST(TilePlan, SinglesAreVectorsWhereExtentsCountElements) {
  TileSpace space = elements({{1}, Cover::Rest}, {{50}, Cover::Singles, 16});
  EXPECT_EQ(space.cost({1, 3}), 3 + 1);
  EXPECT_EQ(space.cost({1, 4}), 4) << "four vectors of which the last is not whole are no panel";
}

TEST(TilePlan, TheCheapestTileFitsTheRegistersAndTheAxes) {
  TileSpace space = elements({{7}, Cover::Rest}, {{6}, Cover::Whole});
  space.tile_cost = [](const RegisterTile& tile) { return static_cast<double>(tile.sums()) + 1; };
  TileChoice choice = cheapest_tile(space);  // the fewest tiles
  EXPECT_EQ(choice.tile.rows, 7);
  EXPECT_EQ(choice.tile.vectors, 3);
  EXPECT_EQ(choice.stack, 1);
  space.max_stack = 3;
  space.fits = [](const RegisterTile& tile) { return tile.sums() <= 42; };
  choice = cheapest_tile(space);
  EXPECT_EQ(choice.tile.vectors * choice.stack, 6) << "rows of pixels are put together where they are whole";
  space.fits = [](const RegisterTile&) { return false; };
  EXPECT_EQ(cheapest_tile(space).cost, TileChoice().cost);
}

TEST(TilePlan, SeveralLikelyExtentsCountAlike) {
  TileSpace space = elements({{2, 200}, Cover::Filled}, {{1}, Cover::Rest});
  EXPECT_EQ(space.cost({2, 1}), 1);
  EXPECT_EQ(space.cost({4, 1}), (2.0 + 1.0) / 2) << "the mean of 4 for 2 elements and 200 for 200";
}

}  // namespace
}  // namespace tessera::topi
