#include "topi/gpu/ordered/sort_network.h"

#include <algorithm>

#include "ir/prim/ops.h"

namespace tessera::topi {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// In every run of 2 * `distance` of `size` registers.
void add_pairs(int64_t size, int64_t distance, bool is_mirrored, Pairs* out) {
  for (int64_t run = 0; run < size; run += 2 * distance)
    for (int64_t i = 0; i < distance; ++i)
      out->emplace_back(run + i, is_mirrored ? run + 2 * distance - 1 - i : run + distance + i);
}

/// Passes of at most three distances each, from `distance` down to those above `innermost`.
void add_passes(int64_t distance, int64_t innermost, bool is_mirrored, std::vector<NetworkPass>* out) {
  while (distance > innermost) {
    NetworkPass pass{.distance = distance, .bits = 0, .is_mirrored = is_mirrored};
    for (; pass.bits < kMaxPassBits && distance > innermost; distance /= 2) ++pass.bits;
    out->push_back(pass);
    is_mirrored = false;
  }
}

}  // namespace

PrimExpr NetworkPass::position(const PrimExpr& group, int64_t i) const {
  if (sorts) return group * number(group_size()) + number(i);
  const int64_t step = distance >> (bits - 1);
  const PrimExpr start = floordiv(group, number(step)) * number(2 * distance), within = floormod(group, number(step));
  if (is_mirrored && i >= group_size() / 2)
    return start + number(2 * distance - 1 - (group_size() - 1 - i) * step) - within;
  return start + within + number(i * step);
}

Pairs NetworkPass::pairs() const {
  Pairs out;
  const int64_t size = group_size();
  if (sorts) {
    for (int64_t run = 1; run < size; run *= 2) {
      add_pairs(size, run, true, &out);
      for (int64_t apart = run / 2; apart > 0; apart /= 2) add_pairs(size, apart, false, &out);
    }
    return out;
  }
  add_pairs(size, size / 2, is_mirrored, &out);
  for (int64_t apart = size / 4; apart > 0; apart /= 2) add_pairs(size, apart, false, &out);
  return out;
}

std::vector<NetworkPass> sorting_passes(int64_t length) {
  std::vector<NetworkPass> out{{.bits = kMaxPassBits, .sorts = true}};
  for (int64_t run = int64_t{2} << kMaxPassBits; run <= length; run *= 2) {
    std::vector<NetworkPass> merge = merging_passes(run);
    out.insert(out.end(), merge.begin(), merge.end());
  }
  return out;
}

std::vector<NetworkPass> merging_passes(int64_t length, int64_t innermost) {
  std::vector<NetworkPass> out;
  add_passes(length / 2, innermost, true, &out);
  return out;
}

std::vector<NetworkPass> bitonic_passes(int64_t distance) {
  std::vector<NetworkPass> out;
  add_passes(distance, 0, false, &out);
  return out;
}

Stmt ordered_group(const NetworkPass& pass, const Buffer& registers, const std::function<PrimExpr(int64_t i)>& load,
                   const std::function<Stmt(int64_t i, const PrimExpr& entry)>& store) {
  const int64_t size = pass.group_size();
  auto held = [&](int64_t i) { return make_load(registers, {number(i)}); };
  std::vector<Stmt> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(store_to(registers, number(i), load(i)));
  for (const auto& [low, high] : pass.pairs()) {  // the last register is for what waits
    out.push_back(store_to(registers, number(size), min(held(low), held(high))));
    out.push_back(store_to(registers, number(high), max(held(low), held(high))));
    out.push_back(store_to(registers, number(low), held(size)));
  }
  for (int64_t i = 0; i < size; ++i) out.push_back(store(i, held(i)));
  return sequence(out);
}

}  // namespace tessera::topi
