#include "tune/task_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "base/run_tasks.h"
#include "ir/structural/equal.h"

namespace tessera::tune {
namespace {

constexpr double kImproved = 0.99;

/// The program without what says how it was planned: equal ones need one measurement.
int64_t hash_of(const PrimFunc& program) {
  PrimFuncNode plain(*program.get());
  plain.attrs = DictAttrs();
  return structural_hash(make(std::move(plain)));
}

}  // namespace

TaskSearch::TaskSearch(Task task, uint64_t seed)
    : task_(std::move(task)), space_(task_.decisions), random_(seed ^ std::hash<std::string>()(task_.workload)) {
  starts_.push_back(space_.own());
  for (Point& point : space_.other_rules()) starts_.push_back(std::move(point));
}

double TaskSearch::promise() const {
  if (is_exhausted_) return 0;
  return share() * std::pow(0.6, static_cast<double>(idle_rounds));
}

bool TaskSearch::is_new(const Trial& trial) { return seen_.insert(to_json(trial.plans)).second; }

const Point& TaskSearch::parent() {
  constexpr size_t kParents = 5;
  std::vector<size_t> order(trials_.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t count = std::min(kParents, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<long>(count), order.end(),
                    [&](size_t a, size_t b) { return trials_[a].seconds < trials_[b].seconds; });
  const size_t at = std::min(random_() % count, random_() % count);  // the better ones more often
  return trials_[order[at]].point;
}

std::vector<Trial> TaskSearch::pool(size_t count) {
  std::vector<Trial> out;
  for (size_t tries = 0; out.size() < count && tries < 20 * count; ++tries) {
    Trial trial;
    trial.point = space_.moved(parent(), random_);
    trial.plans = space_.plans(trial.point);
    if (!is_new(trial)) continue;
    out.push_back(std::move(trial));
  }
  std::vector<std::vector<double>> features;
  std::vector<double> target;
  for (const Trial& trial : trials_) {
    features.push_back(space_.features(trial.point));
    target.push_back(std::log(trial.seconds));
  }
  constexpr size_t kLearnFrom = 8;
  if (trials_.size() < kLearnFrom) return out;
  LinearModel model;
  model.fit(features, target);
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < out.size(); ++i) order.emplace_back(model.predict(space_.features(out[i].point)), i);
  std::sort(order.begin(), order.end());
  std::vector<Trial> sorted;
  for (const auto& [_, i] : order) sorted.push_back(std::move(out[i]));
  return sorted;
}

std::vector<Trial> TaskSearch::fitting(std::vector<Trial> pool, size_t count,
                                       const kernel::CompileEnvironment& environment) {
  std::vector<Trial> out;
  const size_t step = std::max<size_t>(count, environment.threads());
  for (size_t first = 0; first < pool.size() && out.size() < count; first += step) {
    const size_t end = std::min(pool.size(), first + step);
    run_tasks(end - first, environment.threads(), [&](size_t i) {
      Trial& trial = pool[first + i];
      try {
        trial.program = kernel::program_of(task_.kernel, environment, {trial.plans});
      } catch (const std::exception&) {  // the rule has no such plan
        trial.program = nullptr;
      }
    });
    for (size_t i = first; i < end; ++i) space_.note(pool[i].point, pool[i].program.defined());
    for (size_t i = first; i < end && out.size() < count; ++i)
      if (pool[i].program && programs_.insert(hash_of(pool[i].program)).second) out.push_back(std::move(pool[i]));
  }
  return out;
}

std::vector<Trial> TaskSearch::propose(size_t count, const kernel::CompileEnvironment& environment) {
  std::vector<Trial> out;
  const auto take = [&](std::vector<Trial> pool) {
    for (Trial& trial : fitting(std::move(pool), count - out.size(), environment)) out.push_back(std::move(trial));
  };
  while (!starts_.empty() && out.size() < count) {
    std::vector<Trial> first;
    for (; !starts_.empty() && first.size() < count - out.size(); starts_.pop_front()) {
      Trial trial{.point = starts_.front(), .plans = space_.plans(starts_.front())};
      if (is_new(trial)) first.push_back(std::move(trial));
    }
    take(std::move(first));
  }
  constexpr int kRounds = 6;
  constexpr size_t kPool = 6;
  for (int round = 0; round < kRounds && out.size() < count && !trials_.empty(); ++round) take(pool(kPool * count));
  is_exhausted_ = out.empty();
  return out;
}

void TaskSearch::begin_with(const kernel::RecordedPlans& plans) {
  if (std::optional<Point> point = space_.find(plans))
    starts_.insert(starts_.begin() + !starts_.empty(), *std::move(point));
}

void TaskSearch::add(Trial trial, bool is_new) {
  trial.program = nullptr;
  const bool is_own = to_json(trial.plans) == to_json(space_.plans(space_.own()));
  if (trial.error != MeasureError::None) {
    ++errors_;
    return;
  }
  if (is_own) own_seconds_ = std::min(own_seconds_, trial.seconds);
  const bool is_better = trials_.empty() || trial.seconds < best_seconds() * kImproved;
  if (trials_.empty() || trial.seconds < best_seconds()) best_ = trials_.size();
  trials_.push_back(std::move(trial));
  if (is_new && is_better) idle_rounds = 0;
}

void TaskSearch::resume(const kernel::TuningRecord& record) {
  std::optional<Point> point = space_.find(record.plans);
  if (!point) return;
  Trial trial{.point = *point, .plans = space_.plans(*point)};
  trial.error = static_cast<MeasureError>(record.error);
  if (!record.seconds.empty()) trial.seconds = *std::min_element(record.seconds.begin(), record.seconds.end());
  else if (trial.error == MeasureError::None) return;
  if (is_new(trial)) add(std::move(trial), false);
}

}  // namespace tessera::tune
