#include "tune/turns.h"

#include <algorithm>

#include "runtime/archive/files.h"

namespace tessera::tune {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Turns run_in_turns(CandidateRunner& runner, const std::string& rule, const std::string& found,
                   const std::string& function, const std::vector<TensorSpec>& args, size_t inputs,
                   const RunOptions& options) {
  constexpr double kFaster = 0.98;
  constexpr int kTurns = 7, kWins = 5, kMajority = kTurns / 2 + 1;
  Turns out;
  auto is_failed = [&](const RunResult& result) {
    out.error = result.error;
    out.message = result.message;
    return result.error != MeasureError::None;
  };
  if (is_failed(runner.compare(rule, found, function, args, inputs, options))) return out;
  const std::string* paths[] = {&rule, &found};
  std::vector<double>* times[] = {&out.rule, &out.found};
  int wins = 0, clear_wins = 0;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    for (size_t side = 0; side < 2; ++side) {
      const size_t which = (side + turn) % 2;
      const RunResult result = runner.run(*paths[which], function, args, options);
      if (is_failed(result)) return out;
      times[which]->push_back(*std::min_element(result.seconds.begin(), result.seconds.end()));
    }
    const double ratio = out.found.back() / out.rule.back();
    wins += ratio < 1;
    clear_wins += ratio < kFaster;  // most of them: the median is one
    out.is_faster = wins >= kWins && clear_wins >= kMajority;
    const int left = kTurns - static_cast<int>(out.rule.size());
    if (out.is_faster || wins + left < kWins || clear_wins + left < kMajority) break;  // what is left changes nothing
  }
  return out;
}

Turns plans_in_turns(const Task& task, const kernel::RecordedPlans& plans,
                     const kernel::CompileEnvironment& environment, const BuildPrograms& build, CandidateRunner& runner,
                     const RunOptions& options) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths{folder.file("rule.so"), folder.file("found.so")};
  std::vector<IRModule> programs;
  for (const kernel::RecordedPlans& each : {plans_of(task.decisions), plans})
    programs.push_back(module_of(kernel::program_of(task.kernel, environment, {each}), task.kernel.name));
  Turns out;
  for (const BuildResult& result : build(programs, paths)) {
    if (result.error == MeasureError::None) continue;
    out.error = MeasureError::CompileHost;
    out.message = result.message;
    return out;
  }
  return run_in_turns(runner, paths[0], paths[1], task.kernel.name, task.args, task.inputs, options);
}

}  // namespace tessera::tune
