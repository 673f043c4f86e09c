#include "relay/transform/region/cheapest_cover.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <utility>

namespace tessera::relay {
namespace {

/// What is covered, and the parts of it that need what is not.
struct State {
  IndexSet covered;
  std::vector<size_t> open;
  auto operator<=>(const State&) const = default;
};

struct Length {
  double cost = 0;
  size_t parts = 0;
  auto operator<=>(const Length&) const = default;
};

struct Step {
  Length length;
  State state;
  bool operator>(const Step& other) const { return length > other.length; }
};

/// How a state was reached.
struct Origin {
  Length length;
  const State* from;
  size_t part;
};

class CoverSearch {
 public:
  CoverSearch(const std::vector<CoverPart>& parts, size_t count, const std::function<double(size_t)>& cost)
      : parts_(parts), count_(count), cost_(cost), costs_(parts.size()), holding_(count) {
    for (size_t part = 0; part < parts.size(); ++part)
      for (size_t node = 0; node < count; ++node)
        if (parts[part].members.contains(node)) holding_[node].push_back(part);
  }

  std::vector<size_t> run() {
    reach({{}, {IndexSet(count_), {}}}, nullptr, 0);
    while (!queue_.empty()) {
      Step step = queue_.top();
      queue_.pop();
      auto it = known_.find(step.state);
      if (it->second.length < step.length) continue;
      size_t next = 0;
      while (next < count_ && step.state.covered.contains(next)) ++next;
      if (next == count_) return parts_to(it->first);
      for (size_t part : holding_[next]) take(step, it->first, part);
    }
    return {};
  }

 private:
  /// What a part needs, where it needs all that an open part does as soon as it needs one node of it.
  IndexSet needs(size_t part, const std::vector<size_t>& open) const {
    IndexSet out = parts_[part].before;
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t other : open) {
        if (other == part || !parts_[other].members.meets(out) || parts_[other].before.is_within(out)) continue;
        out |= parts_[other].before;
        grows = true;
      }
    }
    return out;
  }

  void take(const Step& step, const State& from, size_t part) {
    const CoverPart& taken = parts_[part];
    if (taken.members.meets(from.covered) || needs(part, from.open).meets(taken.members)) return;
    double cost = cost_of(part);
    if (!std::isfinite(cost)) return;
    State state = from;
    state.covered |= taken.members;
    std::vector<size_t> maybe_open = std::exchange(state.open, {});
    maybe_open.insert(std::lower_bound(maybe_open.begin(), maybe_open.end(), part), part);
    for (size_t each : maybe_open)
      if (!needs(each, maybe_open).is_within(state.covered)) state.open.push_back(each);
    reach({{step.length.cost + cost, step.length.parts + 1}, std::move(state)}, &from, part);
  }

  void reach(Step step, const State* from, size_t part) {
    Origin origin{step.length, from, part};
    auto [it, is_new] = known_.try_emplace(step.state, origin);
    if (!is_new && it->second.length <= step.length) return;
    it->second = origin;
    queue_.push(std::move(step));
  }

  double cost_of(size_t part) {
    if (!costs_[part]) costs_[part] = cost_(part);
    return *costs_[part];
  }

  std::vector<size_t> parts_to(const State& last) const {
    std::vector<size_t> out;
    for (const Origin* origin = &known_.at(last); origin->from; origin = &known_.at(*origin->from))
      out.push_back(origin->part);
    std::reverse(out.begin(), out.end());
    return out;
  }

  const std::vector<CoverPart>& parts_;
  size_t count_;
  const std::function<double(size_t)>& cost_;
  std::vector<std::optional<double>> costs_;
  std::vector<std::vector<size_t>> holding_;  // the parts that hold a node
  std::map<State, Origin> known_;
  std::priority_queue<Step, std::vector<Step>, std::greater<>> queue_;
};

}  // namespace

std::vector<size_t> cheapest_cover(const std::vector<CoverPart>& parts, size_t count,
                                   const std::function<double(size_t)>& cost) {
  return CoverSearch(parts, count, cost).run();
}

}  // namespace tessera::relay
