#pragma once
// Sorting networks (Batcher's bitonic one) over entries of 64 bits: every comparison is known when the kernel is made, so threads
// of a block take the same way through it.

#include <functional>
#include <utility>
#include <vector>

#include "topi/gpu/nest.h"

namespace tessera::topi {

/// A step of a network: groups of `1 << bits` entries, each in the registers of one thread, whose pairs are put in order.
struct NetworkPass {
  int64_t distance = 1;      // of the outermost pairs; of the others a half of it, a quarter, ...
  int bits = 1;              // distances that are done at once
  bool is_mirrored = false;  // the outermost pairs lie mirrored: of two sorted runs side by side
  bool sorts = false;        // neighbours, from no order at all

  int64_t group_size() const { return int64_t{1} << bits; }
  /// Where entry `i` of a group lies.
  PrimExpr position(const PrimExpr& group, int64_t i) const;
  /// Registers that are compared, in order: the lesser entry goes to the first.
  std::vector<std::pair<int64_t, int64_t>> pairs() const;
};

constexpr int kMaxPassBits = 3;

/// Makes sorted runs of `length`, a power of two of at least 8, of entries without order.
std::vector<NetworkPass> sorting_passes(int64_t length);
/// Makes sorted runs of `length` of sorted runs of half of it. Distances of `innermost` and less are left out.
std::vector<NetworkPass> merging_passes(int64_t length, int64_t innermost = 0);
/// Makes sorted runs of 2 * `distance` of bitonic ones.
std::vector<NetworkPass> bitonic_passes(int64_t distance);

/// Reads a group by `load`, orders it in `registers` and writes it by `store`.
Stmt ordered_group(const NetworkPass& pass, const Buffer& registers, const std::function<PrimExpr(int64_t i)>& load,
                   const std::function<Stmt(int64_t i, const PrimExpr& entry)>& store);

}  // namespace tessera::topi
