#include "tune/tuner.h"

#include <algorithm>
#include <cstdio>

#include "tune/turns.h"

namespace tessera::tune {
namespace {

constexpr int64_t kIdleRounds = 6;  // after which a kernel is left

double least(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

/// Files that go with the batch.
struct Removed {
  const std::vector<std::string>& paths;
  ~Removed() {
    for (const std::string& path : paths) std::remove(path.c_str());
  }
};

}  // namespace

Tuner::Tuner(const std::vector<Task>& tasks, kernel::CompileEnvironment environment, BuildPrograms build,
             CandidateRunner& runner, TuneOptions options)
    : environment_(std::move(environment)),
      build_(std::move(build)),
      runner_(runner),
      options_(std::move(options)),
      begin_(std::chrono::steady_clock::now()) {
  for (const Task& task : tasks)
    if (task.is_tunable()) tasks_.emplace_back(task, options_.seed);
}

double Tuner::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

size_t Tuner::resume(const kernel::RecordFile& file) {
  size_t out = 0;
  for (TaskSearch& search : tasks_)
    for (const kernel::TuningRecord& record : file.records) {
      if (record.is_confirmed && record.computation == search.task().computation) search.begin_with(record.plans);
      if (record.is_confirmed || record.workload != search.task().workload) continue;
      search.resume(record);
      ++out;
    }
  return out;
}

kernel::TuningRecord Tuner::record_of(const TaskSearch& search, const kernel::RecordedPlans& plans) const {
  const Task& task = search.task();
  kernel::TuningRecord out;
  out.kernel = task.kernel.name;
  out.workload = task.workload;
  out.computation = task.computation;
  out.target = task.kernel.target.str();
  out.machine = kernel::machine_key(environment_.on(task.kernel.target).machine);
  out.plans = plans;
  return out;
}

std::vector<BuildResult> Tuner::build_all(const TaskSearch& search, const std::vector<PrimFunc>& programs,
                                          const std::vector<std::string>& paths) {
  std::vector<IRModule> modules;
  for (const PrimFunc& program : programs) modules.push_back(module_of(program, search.task().kernel.name));
  return build_(modules, paths);
}

size_t Tuner::measure(size_t at, std::vector<Trial> batch, TuneListener& listener) {
  TaskSearch& search = tasks_[at];
  std::vector<PrimFunc> programs;
  std::vector<std::string> paths;
  for (const Trial& trial : batch) {
    programs.push_back(trial.program);
    paths.push_back(folder_.file(std::to_string(files_++) + ".so"));
  }
  const Removed removed{paths};
  const std::vector<BuildResult> built = build_all(search, programs, paths);
  for (size_t i = 0; i < batch.size(); ++i) {
    RunResult result{built[i].error, built[i].message, {}};
    if (result.error == MeasureError::None)
      result = runner_.run(paths[i], search.task().kernel.name, search.task().args, options_.run);
    if (result.error == MeasureError::None && result.seconds.empty()) result.error = MeasureError::Unknown;
    Trial trial = std::move(batch[i]);
    trial.error = result.error;
    if (result.error == MeasureError::None) trial.seconds = least(result.seconds);
    if (writer_) {
      kernel::TuningRecord record = record_of(search, trial.plans);
      record.seconds = result.seconds;
      record.error = static_cast<int>(result.error);
      record.message = result.message;
      writer_->write(record);
    }
    search.add(trial);
    listener.measured(*this, at, trial);
  }
  return batch.size();
}

bool Tuner::is_over(TuneListener& listener) const {
  return listener.is_stopped() || (options_.seconds > 0 && elapsed() >= options_.seconds) ||
         (options_.trials > 0 && trials_ >= options_.trials);
}

size_t Tuner::next_task() const {
  const int64_t idle = options_.early_stopping > 0
                           ? 1 + options_.early_stopping / static_cast<int64_t>(std::max<size_t>(1, options_.batch))
                           : kIdleRounds;
  size_t best = tasks_.size();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const TaskSearch& search = tasks_[i];
    if (!search.is_measured() || search.is_exhausted() || search.idle_rounds >= idle) continue;
    if (best == tasks_.size() || search.promise() > tasks_[best].promise()) best = i;
  }
  return best;
}

void Tuner::search(TuneListener& listener) {
  begin_ = std::chrono::steady_clock::now();
  for (size_t i = 0; i < tasks_.size() && !is_over(listener); ++i)
    if (!tasks_[i].is_measured()) measure(i, tasks_[i].propose(1, environment_), listener);
  while (!is_over(listener)) {
    const size_t at = next_task();
    if (at == tasks_.size()) return;
    size_t count = options_.batch;
    if (options_.trials > 0) count = std::min(count, static_cast<size_t>(options_.trials - trials_));
    ++tasks_[at].idle_rounds;
    std::vector<Trial> batch = tasks_[at].propose(count, environment_);
    trials_ += static_cast<int64_t>(batch.size());
    measure(at, std::move(batch), listener);
  }
}

std::vector<Winner> Tuner::confirm(TuneListener& listener) {
  constexpr double kWorthIt = 0.97;
  std::vector<Winner> out;
  for (size_t at = 0; at < tasks_.size(); ++at) {
    const TaskSearch& search = tasks_[at];
    const Task& task = search.task();
    if (search.trials().empty() || search.best_seconds() > kWorthIt * search.own_seconds()) continue;
    const Turns turns = plans_in_turns(task, search.best().plans, environment_, build_, runner_, options_.run);
    if (turns.error == MeasureError::CompileHost) continue;
    kernel::TuningRecord record = record_of(search, search.best().plans);
    record.is_confirmed = true;
    if (turns.is_faster) {
      record.seconds = turns.found;
      record.rule_seconds = median(turns.rule);
      out.push_back({at, record, static_cast<double>(task.calls) * (median(turns.rule) - median(turns.found))});
    } else if (turns.error == MeasureError::WrongAnswer && writer_) {  // a trial that turned out to be wrong
      record.is_confirmed = false;
      record.error = static_cast<int>(turns.error);
      record.message = turns.message;
      writer_->write(record);
    }
    listener.confirmed(*this, at, turns.rule.empty() ? 0 : median(turns.rule),
                       turns.found.empty() ? 0 : median(turns.found), turns.is_faster);
  }
  return out;
}

double Tuner::own_seconds() const {
  double out = 0;
  for (const TaskSearch& search : tasks_)
    if (search.is_measured()) out += static_cast<double>(search.task().calls) * search.own_seconds();
  return out;
}

double Tuner::best_seconds() const {
  double out = 0;
  for (const TaskSearch& search : tasks_)
    if (search.is_measured()) out += search.share();
  return out;
}

}  // namespace tessera::tune
