#pragma once
// Which token comes next, by the scores of all.

#include <random>
#include <vector>

#include "runtime/ndarray.h"

namespace tessera {

struct Sampling {
  double temperature = 0;  // scores are divided by it; 0: the token of the highest score
  int64_t top_k = 0;       // so many of the highest scores are drawn from; 0: all
  double top_p = 1;        // and of those the first until their probabilities add up to this
  uint64_t seed = 0;

  /// A ValueError that names what is out of range.
  void check() const;
};

class Sampler {
 public:
  explicit Sampler(const Sampling& options) : options_(options), random_(options.seed) { options.check(); }
  /// From the last `count` elements of a tensor. The same scores and seed give the same tokens. A score that is no number is
  /// a ValueError.
  int64_t next(const NDArray& logits, int64_t count);

 private:
  int64_t draw(std::vector<double>& scores);

  Sampling options_;
  std::mt19937_64 random_;
};

}  // namespace tessera
