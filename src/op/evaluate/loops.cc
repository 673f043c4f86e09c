#include "op/evaluate/loops.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/cpu/thread_pool.h"

namespace tessera::op {
namespace {

constexpr int64_t kWorthThreads = 1 << 16;  // elements

struct Region {
  const std::function<void(int64_t, int64_t)>* run;
  int64_t count, chunks;
};

int run_chunk(int task, TesseraParallelGroupEnv* environment, void* data) {
  auto* region = static_cast<const Region*>(data);
  for (int64_t i = task; i < region->chunks; i += environment->num_task)
    (*region->run)(region->count* i / region->chunks, region->count * (i + 1) / region->chunks);
  return 0;
}

template <class T>
void copy_inner(const std::vector<CopyLoop>& loops, size_t depth, const T* from, T* to) {
  const CopyLoop& loop = loops[depth];
  if (depth + 1 < loops.size()) {
    for (int64_t i = 0; i < loop.extent; ++i) copy_inner(loops, depth + 1, from + i * loop.from, to + i * loop.to);
  } else if (loop.from == 1 && loop.to == 1) {
    std::copy(from, from + loop.extent, to);
  } else if (loop.to == 1) {
    for (int64_t i = 0; i < loop.extent; ++i) to[i] = from[i * loop.from];
  } else {
    for (int64_t i = 0; i < loop.extent; ++i) to[i * loop.to] = from[i * loop.from];
  }
}

template <class T>
void copy_all(const std::vector<CopyLoop>& loops, const void* from, void* to) {
  int64_t inside = 1;
  for (size_t i = 1; i < loops.size(); ++i) inside *= loops[i].extent;
  in_chunks(loops[0].extent, inside, [&](int64_t first, int64_t last) {
    std::vector<CopyLoop> own = loops;
    own[0].extent = last - first;
    copy_inner(own, 0, static_cast<const T*>(from) + first * loops[0].from, static_cast<T*>(to) + first * loops[0].to);
  });
}

}  // namespace

void in_chunks(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t)>& run) {
  if (count <= 1 || count * cost < kWorthThreads) return run(0, count);
  Region region{&run, count, std::min<int64_t>(count, 4 * num_threads())};
  int status = parallel_launch(run_chunk, &region, static_cast<int>(-region.chunks));
  ICHECK(status == 0) << "loops over constants do not fail";
}

void copy_elements(std::vector<CopyLoop> loops, size_t element_bytes, const void* from, void* to) {
  for (const CopyLoop& loop : loops)
    if (loop.extent == 0) return;
  std::erase_if(loops, [](const CopyLoop& loop) { return loop.extent == 1; });
  std::stable_sort(loops.begin(), loops.end(), [](const CopyLoop& a, const CopyLoop& b) { return a.to > b.to; });
  std::vector<CopyLoop> merged;
  for (const CopyLoop& loop : loops) {
    bool continues =
        !merged.empty() && merged.back().to == loop.to * loop.extent && merged.back().from == loop.from * loop.extent;
    if (continues) merged.back() = {merged.back().extent * loop.extent, loop.to, loop.from};
    else merged.push_back(loop);
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  // what reads neighbours stands next to what writes neighbours, so that cache lines of both are used while they are
  // cached
  auto contiguous = std::find_if(merged.begin(), merged.end(), [](const CopyLoop& loop) { return loop.from == 1; });
  if (merged.size() > 2 && contiguous != merged.end() && contiguous + 1 != merged.end())
    std::rotate(contiguous, contiguous + 1, merged.end() - 1);
  switch (element_bytes) {
    case 1: return copy_all<uint8_t>(merged, from, to);
    case 2: return copy_all<uint16_t>(merged, from, to);
    case 4: return copy_all<uint32_t>(merged, from, to);
    case 8: return copy_all<uint64_t>(merged, from, to);
    default: ICHECK(false) << "no element has " << element_bytes << " bytes";
  }
}

std::vector<int64_t> row_major(std::span<const int64_t> shape) {
  std::vector<int64_t> out(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) out[i - 1] = out[i] * shape[i];
  return out;
}

}  // namespace tessera::op
