// Ways to split extents without a rest.

#include <map>
#include <mutex>

#include "tune/auto_scheduler/policy/sketch.h"

namespace tessera::auto_scheduler {

std::vector<int64_t> divisors(int64_t value) {
  std::vector<int64_t> low, high;
  for (int64_t i = 1; i * i <= value; ++i) {
    if (value % i) continue;
    low.push_back(i);
    if (i * i != value) high.push_back(value / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

namespace {

void enumerate(int64_t rest, size_t parts, int64_t max_innermost, std::vector<int64_t>* now,
               std::vector<std::vector<int64_t>>* out) {
  if (now->size() == parts) {
    if (now->back() <= max_innermost) out->push_back(*now);
    return;
  }
  for (int64_t factor : divisors(rest)) {
    now->push_back(factor);
    enumerate(rest / factor, parts, max_innermost, now, out);
    now->pop_back();
  }
}

}  // namespace

const std::vector<std::vector<int64_t>>& factorizations(int64_t extent, size_t parts, int64_t max_innermost) {
  static std::mutex mutex;
  static std::map<std::tuple<int64_t, size_t, int64_t>, std::vector<std::vector<int64_t>>> known;
  std::lock_guard lock(mutex);
  auto [it, is_new] = known.try_emplace({extent, parts, max_innermost});
  if (is_new && parts && extent > 0) {
    std::vector<int64_t> now;
    enumerate(extent, parts, max_innermost, &now, &it->second);
  }
  return it->second;
}

}  // namespace tessera::auto_scheduler
