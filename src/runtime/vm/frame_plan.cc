#include "runtime/vm/frame_plan.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace tessera::vm {
namespace {

constexpr size_t kMaxBytes = ~size_t{0} / 4;

/// Ranges of one piece of memory that grows at its end.
class Ranges {
 public:
  size_t take(size_t bytes) {
    size_t begin = end_, found = 0;
    if (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end()) {
      std::tie(found, begin) = *it;
      erase(begin, found);
      if (found > bytes) insert(begin + bytes, found - bytes);
      return begin;
    }
    // The last range, where it reaches the end, grows.
    if (auto last = free_.empty() ? free_.end() : std::prev(free_.end());
        last != free_.end() && last->first + last->second == end_) {
      begin = last->first;
      erase(begin, last->second);
    }
    end_ = begin + bytes;
    return begin;
  }
  void give(size_t begin, size_t bytes) {
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && begin + bytes == next->first) {
      bytes += next->second;
      auto gone = next++;
      erase(gone->first, gone->second);
    }
    if (next != free_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == begin) {
        begin = before->first;
        bytes += before->second;
        erase(before->first, before->second);
      }
    }
    insert(begin, bytes);
  }
  size_t end() const { return end_; }

 private:
  void insert(size_t begin, size_t bytes) {
    free_.emplace(begin, bytes);
    by_size_.emplace(bytes, begin);
  }
  void erase(size_t begin, size_t bytes) {
    by_size_.erase({bytes, begin});
    free_.erase(begin);
  }
  std::map<size_t, size_t> free_;
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t end_ = 0;
};

}  // namespace

size_t plan_offsets(const FrameLayout& layout, std::span<FramePlan::Slot> slots) {
  using Ending = std::pair<uint32_t, size_t>;  // last use, slot
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  Ranges ranges;
  auto room = [&](size_t i) {
    return std::max((slots[i].bytes + kAllocAlignment - 1) / kAllocAlignment, size_t{1}) * kAllocAlignment;
  };
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].bytes == FramePlan::kUnknown) continue;
    if (slots[i].bytes > kMaxBytes) return FramePlan::kUnknown;
    for (; !alive.empty() && alive.top().first < layout.slots[i].made_at; alive.pop())
      ranges.give(slots[alive.top().second].offset, room(alive.top().second));
    slots[i].offset = ranges.take(room(i));
    alive.emplace(layout.slots[i].last_use, i);
    if (ranges.end() > kMaxBytes) return FramePlan::kUnknown;
  }
  return ranges.end();
}

std::shared_ptr<FramePlan> FramePlan::with_offsets(const FrameLayout& layout) const {
  auto out = std::make_shared<FramePlan>();
  out->shapes = shapes;
  out->slots.resize(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) out->slots[i].bytes = slots[i].bytes;
  out->bytes = plan_offsets(layout, out->slots);
  if (out->bytes != kUnknown) return out;
  out->bytes = 0;
  for (Slot& slot : out->slots) slot.offset = kUnknown;
  return out;
}

std::shared_ptr<FramePlan> FramePlans::find_key() {
  auto it = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.key == key_; });
  if (it == known_.end()) {
    if (known_.size() == kMaxShapes) known_.pop_back();
    Known& made = known_.emplace_front();
    made.key = key_;
    made.plan = std::make_shared<FramePlan>();
    made.plan->slots.resize(layout_.slots.size());
    made.plan->shapes.resize(layout_.shapes);
    return made.plan;
  }
  if (it != known_.begin()) std::rotate(known_.begin(), it, it + 1);
  std::shared_ptr<FramePlan>& plan = known_.front().plan;
  if (plan->has_news) plan = plan->with_offsets(layout_);
  return plan;
}

}  // namespace tessera::vm
