#pragma once
// Random choices of a schedule: the generator and what is drawn from it. The same seed draws the same choices as in
// TVM v0.10, so that tuning logs and seeded scripts mean what they meant.

#include <cstdint>
#include <vector>

namespace tessera::schedule {

/// The minimal standard generator x -> 48271 x mod (2^31 - 1) over a state that belongs to someone else. It answers to
/// the names that distributions of the standard library ask for.
class Random {
 public:
  using result_type = uint64_t;
  static constexpr int64_t kModulus = 2147483647;
  explicit Random(int64_t* state) : state_(state) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return kModulus - 1; }
  result_type operator()() { return static_cast<result_type>(*state_ = *state_ * 48271 % kModulus); }

  /// A seed for another generator, drawn so that the two do not follow one another.
  int64_t fork() { return static_cast<int64_t>((*this)() * 32767 % 1999999973); }
  /// A state from a user's seed; -1 asks the machine for one.
  static int64_t state_of_seed(int64_t seed);

 private:
  int64_t* state_;
};

/// An integer of [low, high).
int sample_int(int64_t* state, int low, int high);
/// An index, as likely as its weight says.
int sample_index(int64_t* state, const std::vector<double>& weights);
/// Factors whose product is `extent`, all ways of dividing each prime's power equally likely; drawn again until the last
/// factor is at most `max_innermost` (-1: no limit).
std::vector<int64_t> sample_tile(int64_t* state, int64_t extent, int parts, int max_innermost);
/// An earlier decision made to fit: from the inside out, a factor that does not divide takes all that is left.
std::vector<int64_t> fitted_tile(std::vector<int64_t> factors, int64_t extent);

}  // namespace tessera::schedule
