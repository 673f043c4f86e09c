#include "schedule/trace/sampling.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"

namespace tessera::schedule {
namespace {

struct PrimePower {
  int64_t prime;
  int power;
};

/// v0.10 keeps a table of the primes below this and treats others apart: they are drawn the other way round.
constexpr int64_t kTablePrimes = 65536;

std::vector<PrimePower> factorize(int64_t n) {
  std::vector<PrimePower> out;
  for (int64_t p = 2; p * p <= n; ++p) {
    int power = 0;
    for (; n % p == 0; n /= p) ++power;
    if (power) out.push_back({p, power});
  }
  if (n > 1) out.push_back({n, 1});
  return out;
}

/// `count` different integers of [0, n), in the order they were drawn.
std::vector<int> sample_distinct(int64_t* state, int n, int count) {
  if (count == 1) return {sample_int(state, 0, n)};
  if (count == 2) {
    int first = sample_int(state, 0, n);
    int second = sample_int(state, 0, n - 1);
    return {first, second < first ? second : second + 1};
  }
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < count; ++i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(sample_int(state, i, n))]);
  order.resize(static_cast<size_t>(count));
  return order;
}

/// How often each part gets a prime of that power: stars between bars.
std::vector<int> sample_shares(int64_t* state, const PrimePower& factor, int parts) {
  int power = factor.power;
  if (parts == 2) {
    int first = sample_int(state, 0, power + 1);
    if (factor.prime >= kTablePrimes) first = power - first;
    return {first, power - first};
  }
  std::vector<int> shares(static_cast<size_t>(parts), 0);
  if (power == 1) {
    shares[static_cast<size_t>(sample_int(state, 0, parts))] = 1;
    return shares;
  }
  std::vector<int> bars = sample_distinct(state, power + parts - 1, parts - 1);
  std::sort(bars.begin(), bars.end());
  bars.push_back(power + parts - 1);
  int last = -1;
  for (size_t i = 0; i < bars.size(); ++i) {
    shares[i] = bars[i] - last - 1;
    last = bars[i];
  }
  return shares;
}

std::vector<int64_t> draw_tile(int64_t* state, int64_t extent, int parts) {
  std::vector<int64_t> out(static_cast<size_t>(parts), 1);
  for (const PrimePower& factor : factorize(extent)) {
    std::vector<int> shares = sample_shares(state, factor, parts);
    for (size_t i = 0; i < out.size(); ++i)
      for (int j = 0; j < shares[i]; ++j) out[i] *= factor.prime;
  }
  return out;
}

}  // namespace

int64_t Random::state_of_seed(int64_t seed) {
  if (seed == -1) seed = std::random_device()();
  seed %= kModulus;
  if (seed == 0) return 1;
  return seed < 0 ? seed + kModulus : seed;
}

int sample_int(int64_t* state, int low, int high) {
  ICHECK(low < high) << "there is something to draw from";
  if (low + 1 == high) return low;
  Random random(state);
  return std::uniform_int_distribution<int>(low, high - 1)(random);
}

int sample_index(int64_t* state, const std::vector<double>& weights) {
  Random random(state);
  return std::discrete_distribution<int>(weights.begin(), weights.end())(random);
}

std::vector<int64_t> sample_tile(int64_t* state, int64_t extent, int parts, int max_innermost) {
  if (parts == 1) return {extent};
  if (extent <= 1) return std::vector<int64_t>(static_cast<size_t>(parts), 1);
  while (true) {
    std::vector<int64_t> factors = draw_tile(state, extent, parts);
    if (max_innermost == -1 || factors.back() <= max_innermost) return factors;
  }
}

std::vector<int64_t> fitted_tile(std::vector<int64_t> factors, int64_t extent) {
  for (size_t i = factors.size() - 1; i > 0; --i) {
    if (factors[i] <= 0 || extent % factors[i] != 0) factors[i] = extent;
    extent /= factors[i];
  }
  factors[0] = extent;
  return factors;
}

}  // namespace tessera::schedule
