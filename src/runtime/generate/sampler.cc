#include "runtime/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/function/element.h"

namespace tessera {

void Sampling::check() const {
  if (!(temperature >= 0) || !std::isfinite(temperature))
    throw Error(ValueError) << "the temperature is a number from 0 on, not " << temperature;
  if (top_k < 0) throw Error(ValueError) << "top-k is a number of tokens, or 0 for all, not " << top_k;
  if (!(top_p > 0 && top_p <= 1)) throw Error(ValueError) << "top-p is above 0 and at most 1, not " << top_p;
}

int64_t Sampler::next(const NDArray& given, int64_t count) {
  NDArray logits = given.device().device_type == kDLCPU ? given : given.copy_to(cpu());
  const DataType dtype = logits.dtype();
  const auto step = static_cast<size_t>(dtype.bytes());
  const char* at = logits.data<char>() + static_cast<size_t>(logits.size() - count) * step;
  std::vector<double> scores(static_cast<size_t>(count));
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = read_float(dtype, at + i * step);
    if (std::isnan(scores[i]) || scores[i] == INFINITY)
      throw Error(ValueError) << "the model gives token " << i << " the score "
                              << (std::isnan(scores[i]) ? "NaN" : "infinity") << ", so that none can be chosen";
  }
  if (options_.temperature == 0 || options_.top_k == 1)
    return std::max_element(scores.begin(), scores.end()) - scores.begin();
  return draw(scores);
}

int64_t Sampler::draw(std::vector<double>& scores) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  auto is_before = [&](int64_t a, int64_t b) {
    const double x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const size_t top = options_.top_k ? std::min(order.size(), static_cast<size_t>(options_.top_k)) : order.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(top), order.end(), is_before);
  order.resize(top);
  const double highest = scores[static_cast<size_t>(order[0])];
  if (highest == -INFINITY) throw Error(ValueError) << "the model gives every token the score -infinity";
  std::vector<double> sums;
  double sum = 0;
  for (int64_t id : order) {
    sum += std::exp((scores[static_cast<size_t>(id)] - highest) / options_.temperature);
    sums.push_back(sum);
  }
  auto index_of = [&](double part) { return std::lower_bound(sums.begin(), sums.end(), part) - sums.begin(); };
  const auto last =
      static_cast<size_t>(std::min<ptrdiff_t>(index_of(options_.top_p * sum), static_cast<ptrdiff_t>(top) - 1));
  // 53 random bits, so that every library draws alike.
  const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53 * sums[last];
  const auto chosen = static_cast<size_t>(
      std::upper_bound(sums.begin(), sums.begin() + static_cast<ptrdiff_t>(last), drawn) - sums.begin());
  return order[chosen];
}

}  // namespace tessera
