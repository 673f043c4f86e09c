#pragma once
// What schedules on CPUs cost: the default of every plan is the cheapest by this model, and tuners search around it.
// The unit is a multiply-add of whole vectors on one core.

#include <algorithm>
#include <functional>
#include <limits>

#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Sums in registers, each a vector: a step of k multiplies `rows` elements of A with `vectors` vectors of B. Where vectors lie
/// along k it is so many rows of A and of B.
struct RegisterTile {
  int64_t rows = 1, vectors = 1;
  int64_t sums() const { return rows * vectors; }
};
/// The registers that a tile takes: its sums, the vectors of B, and two elements of A that are broadcast in turns.
inline int64_t outer_registers(const RegisterTile& tile) { return tile.sums() + tile.vectors + 2; }
/// The same where vectors lie along k: the shorter side is held, the other passes by two at a time.
inline int64_t dot_registers(const RegisterTile& tile) { return tile.sums() + std::min(tile.rows, tile.vectors) + 2; }
/// The rows of a tile of so many vectors that fit the registers; 0 where none does.
int64_t max_tile_rows(int64_t vectors, int64_t registers);

/// A step of k of a tile: a multiply-add for each sum, or its loads where they are more, but no less than the latency of
/// dependent sums; and the loop.
double step_cost(const Machine& machine, const RegisterTile& tile);
/// What widening fp16 or bf16 vectors of B adds to it.
double widen_cost(const RegisterTile& tile);

/// The cost of tiles of `size` that cover `extent`, the last of them with what is left; `cost_of` is given the size of each.
double cover_cost(int64_t extent, int64_t size, const std::function<double(int64_t size)>& cost_of);

/// A whole tile whose factors are in L1: `steps` of k, and its sums cleared and stored. `widens`: vectors of B.
double cached_tile_cost(const Machine& machine, const RegisterTile& tile, int64_t steps, bool widens = false);
/// The same with the cache lines that its steps read from L2.
double outer_tile_cost(const Machine& machine, const RegisterTile& tile, int64_t steps, bool widens = false);
/// The same where vectors lie along k, `steps` of them; the lanes of each sum are added up.
double dot_tile_cost(const Machine& machine, const RegisterTile& tile, int64_t steps);

/// The candidate of least cost so far. Among costs that are equal but for 0.1 % the one with more sums wins with
/// `Ties::Larger`, else the first.
enum class Ties { First, Larger };
class Cheapest {
 public:
  explicit Cheapest(Ties ties = Ties::First) : ties_(ties) {}
  /// True where this is the best candidate so far.
  bool is_better(double cost, int64_t sums = 0);
  double cost() const { return least_; }

 private:
  Ties ties_;
  double least_ = std::numeric_limits<double>::infinity();
  int64_t most_ = 0;
};

/// Beside the steps of a tile.
struct TileCosts {
  static constexpr double cache_line = 0.12;    // that a step reads from L2
  static constexpr double tile = 24;            // sums are cleared and stored, and the pipeline runs empty
  static constexpr double store = 2;            // of a sum
  static constexpr double lane_sum = 5;         // of a vector: its lanes are added up
  static constexpr double transpose = 5;        // of a vector that is copied into a panel
  static constexpr double shared_panel = 0.02;  // part of a thread's share, where threads pack for each other
  static constexpr double packed_edge = 0.04;   // of a tile, for each row and column of tiles that a thread packs
};

/// What a kernel has to do at least before a second thread, which takes some microseconds to wake, brings more than it costs.
struct ParallelThreshold {
  static constexpr int64_t elements = 4096;        // computed one by one
  static constexpr int64_t transposed = 8192;      // moved by tiles in registers
  static constexpr int64_t reduced = 1 << 15;      // added up
  static constexpr int64_t matmul = 1 << 16;       // multiply-adds of a matmul
  static constexpr int64_t contraction = 1 << 17;  // of other contractions
};

}  // namespace tessera::topi
