#pragma once
// The search for one kernel: the rule's own plan, what won elsewhere, other rules that fit, then neighbours of the best, the most promising first.

#include <deque>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "kernel/record_lines.h"
#include "tir/function.h"
#include "tune/knob_space.h"
#include "tune/linear_model.h"
#include "tune/task.h"

namespace tessera::tune {

struct Trial {
  Point point;
  kernel::RecordedPlans plans;
  PrimFunc program;
  double seconds = std::numeric_limits<double>::infinity();  // the least of its runs
  MeasureError error = MeasureError::None;
};

class TaskSearch {
 public:
  TaskSearch(Task task, uint64_t seed);

  const Task& task() const { return task_; }
  /// Up to so many candidates that nobody has proposed before; none where the space seems to be exhausted.
  std::vector<Trial> propose(size_t count, const kernel::CompileEnvironment& environment);
  /// The result of a trial; `is_new`: measured now, not by an earlier run.
  void add(Trial trial, bool is_new = true);
  /// What an earlier run measured of these plans.
  void resume(const kernel::TuningRecord& record);
  /// Plans that won elsewhere, with another number of threads or on another CPU: they are tried first.
  void begin_with(const kernel::RecordedPlans& plans);

  const std::vector<Trial>& trials() const { return trials_; }  // measured ones
  int64_t errors() const { return errors_; }
  /// By the rule's own plan; infinite before it is measured.
  double own_seconds() const { return own_seconds_; }
  double best_seconds() const { return trials_.empty() ? own_seconds_ : trials_[best_].seconds; }
  const Trial& best() const { return trials_[best_]; }
  bool is_measured() const { return own_seconds_ < std::numeric_limits<double>::infinity(); }
  bool is_exhausted() const { return is_exhausted_; }
  /// Seconds of a run of the model that this kernel takes now.
  double share() const { return static_cast<double>(task_.calls) * best_seconds(); }
  /// What another round seems to be worth: its share, less with each round that found nothing.
  double promise() const;
  int64_t idle_rounds = 0;

 private:
  std::vector<Trial> pool(size_t count);
  std::vector<Trial> fitting(std::vector<Trial> pool, size_t count, const kernel::CompileEnvironment& environment);
  bool is_new(const Trial& trial);
  const Point& parent();

  Task task_;
  KnobSpace space_;
  Random random_;
  std::deque<Point> starts_;  // tried before neighbours
  std::vector<Trial> trials_;
  std::set<std::string> seen_;
  std::set<int64_t> programs_;
  size_t best_ = 0;
  double own_seconds_ = std::numeric_limits<double>::infinity();
  int64_t errors_ = 0;
  bool is_exhausted_ = false;
};

}  // namespace tessera::tune
