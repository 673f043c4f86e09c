// Offsets of buffers in pools: buffers that are live at the same time lie apart, each at the lowest address that is free.

#include <algorithm>
#include <random>
#include <unordered_map>

#include "runtime/registry.h"
#include "tir/usmp/usmp.h"

namespace tessera::usmp {
namespace {

/// The buffers with their conflicts as numbers, both ways even where only one of two names the other.
struct Problem {
  explicit Problem(const Array<BufferInfo>& given) {
    std::unordered_map<const Object*, size_t> number_of;
    for (const BufferInfo& buffer : given) {
      number_of.emplace(buffer.get(), buffers.size());
      buffers.push_back(buffer);
    }
    conflicts.resize(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i)
      for (const ObjectRef& other : buffers[i]->conflicts) {
        auto found = number_of.find(other.get());
        if (found == number_of.end() || found->second == i) continue;
        conflicts[i].push_back(found->second);
        conflicts[found->second].push_back(i);
      }
    for (std::vector<size_t>& list : conflicts) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  int64_t size(size_t i) const { return buffers[i]->size_bytes->value; }

  std::vector<BufferInfo> buffers;
  std::vector<std::vector<size_t>> conflicts;
};

struct Allocation {
  const PoolInfoNode* pool = nullptr;
  int64_t offset = 0;
};
using Order = std::vector<size_t>;

struct Layout {
  std::vector<Allocation> allocations;
  int64_t total = 0;    // bytes of all pools together
  int64_t failed = -1;  // the buffer that no pool has room for
};

/// The lowest aligned offset of the pool at which the buffer overlaps none of its conflicts; -1 when it would end behind
/// the pool.
int64_t lowest_offset(const Problem& problem, const std::vector<Allocation>& allocations, size_t self,
                      const PoolInfoNode* pool) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t other : problem.conflicts[self])
    if (allocations[other].pool == pool)
      taken.emplace_back(allocations[other].offset, allocations[other].offset + problem.size(other));
  std::sort(taken.begin(), taken.end());
  int64_t alignment = problem.buffers[self]->alignment->value, size = problem.size(self), offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + size <= begin) break;
    if (end > offset) offset = (end + alignment - 1) / alignment * alignment;
  }
  int64_t limit = pool->size_hint_bytes->value;
  return limit >= 0 && offset + size > limit ? -1 : offset;
}

/// PoolAllocations the buffers one after another, each in the first of its pools that has room.
Layout lay_out(const Problem& problem, const Order& order) {
  Layout out;
  out.allocations.resize(problem.buffers.size());
  std::unordered_map<const PoolInfoNode*, int64_t> used;
  for (size_t i : order) {
    for (const PoolInfo& pool : problem.buffers[i]->pool_candidates) {
      int64_t offset = lowest_offset(problem, out.allocations, i, pool.get());
      if (offset < 0) continue;
      out.allocations[i] = {pool.get(), offset};
      int64_t& bytes = used[pool.get()];
      bytes = std::max(bytes, offset + problem.size(i));
      break;
    }
    if (!out.allocations[i].pool) {
      out.failed = static_cast<int64_t>(i);
      return out;
    }
  }
  for (const auto& [pool, bytes] : used) out.total += bytes;
  return out;
}

PoolAllocations as_allocations(const Problem& problem, const Layout& layout) {
  if (layout.failed >= 0) {
    const BufferInfo& buffer = problem.buffers[static_cast<size_t>(layout.failed)];
    std::string pools;
    for (const PoolInfo& pool : buffer->pool_candidates)
      pools += (pools.empty() ? "" : ", ") + pool->pool_name.str() + " (" +
               std::to_string(pool->size_hint_bytes->value) + " bytes)";
    throw Error(RuntimeError) << "the memory pools have no room left for buffer " << buffer->name_hint << " of "
                              << buffer->size_bytes->value << " bytes, which may go to " << pools
                              << "; raise their size_hint_bytes or name more pools";
  }
  PoolAllocations out;
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    out.set(problem.buffers[i], make(PoolAllocationNode{.pool_info = PoolInfo(layout.allocations[i].pool),
                                                        .byte_offset = integer(layout.allocations[i].offset)}));
  return out;
}

/// The buffers by falling weight; those of equal weight as they were given.
template <class F>
Order sorted_by(const Problem& problem, const F& weight) {
  Order order(problem.buffers.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weight(a) > weight(b); });
  return order;
}

Order by_size(const Problem& problem) {
  return sorted_by(problem, [&](size_t i) { return std::pair(problem.size(i), problem.conflicts[i].size()); });
}
Order by_conflicts(const Problem& problem) {
  return sorted_by(
      problem, [&](size_t i) { return std::pair(static_cast<int64_t>(problem.conflicts[i].size()), problem.size(i)); });
}

PoolAllocations greedy_by_size(const Array<BufferInfo>& buffers, int64_t) {
  Problem problem(buffers);
  return as_allocations(problem, lay_out(problem, by_size(problem)));
}

PoolAllocations greedy_by_conflicts(const Array<BufferInfo>& buffers, int64_t) {
  Problem problem(buffers);
  return as_allocations(problem, lay_out(problem, by_conflicts(problem)));
}

/// Starts from the better of the greedy orders and swaps the buffer that ends last with another one, keeping what is not
/// worse, until the memory pressure is reached or 500 tries are over. Always the same for the same buffers.
PoolAllocations hill_climb(const Array<BufferInfo>& buffers, int64_t memory_pressure) {
  Problem problem(buffers);
  auto is_better = [](const Layout& a, const Layout& b) {
    return (a.failed < 0) != (b.failed < 0) ? a.failed < 0 : a.total < b.total;
  };
  Order order = by_size(problem);
  Layout best = lay_out(problem, order);
  if (Layout other = lay_out(problem, by_conflicts(problem)); is_better(other, best)) {
    best = other;
    order = by_conflicts(problem);
  }
  std::mt19937 random(0);  // NOLINT(cert-msc51-cpp): plans must not change from run to run
  for (int tries = 0; tries < 500 && order.size() > 1 && (best.failed >= 0 || best.total > memory_pressure); ++tries) {
    size_t last = 0;  // in the order, the buffer that ends last, or that found no room
    for (size_t i = 0; i < order.size() && best.failed < 0; ++i)
      if (best.allocations[order[i]].offset + problem.size(order[i]) >
          best.allocations[order[last]].offset + problem.size(order[last]))
        last = i;
    if (best.failed >= 0)
      last =
          static_cast<size_t>(std::find(order.begin(), order.end(), static_cast<size_t>(best.failed)) - order.begin());
    Order changed = order;
    size_t partner = random() % order.size();
    std::swap(changed[tries % 2 ? last : random() % order.size()], changed[partner]);
    Layout next = lay_out(problem, changed);
    if (is_better(best, next)) continue;
    best = next;
    order = changed;
  }
  return as_allocations(problem, best);
}

Globals algorithms_globals{
    {"tir.usmp.algo.greedy_by_size", greedy_by_size},
    {"tir.usmp.algo.greedy_by_conflicts", greedy_by_conflicts},
    {"tir.usmp.algo.hill_climb", hill_climb},
};

}  // namespace

PoolAllocations plan(const String& algorithm, const Array<BufferInfo>& buffers, int64_t memory_pressure) {
  std::string name = "tir.usmp.algo." + algorithm.str();
  if (!find_global(name))
    throw Error(ValueError) << "no algorithm " << quoted(algorithm) << " to plan memory by; there are greedy_by_size, "
                            << "greedy_by_conflicts, hill_climb and functions registered as \"tir.usmp.algo.NAME\"";
  return get_global(name)(buffers, memory_pressure).to<PoolAllocations>();
}

}  // namespace tessera::usmp
