#pragma once
// A kernel that a search found beside the one that the schedule rules make of the same work: both run in turns, so that what else the
// machine does meets them alike.

#include "tune/build.h"
#include "tune/measure.h"
#include "tune/task.h"

namespace tessera::tune {

struct Turns {
  MeasureError error = MeasureError::None;  // of running either, or a wrong answer of the second
  std::string message;
  std::vector<double> rule, found;  // seconds of each turn, the fastest repeat
  /// True where the second was faster in most turns, and by more than chance.
  bool is_faster = false;
};

/// `inputs` of `args` are inputs, the others results, which have to agree.
Turns run_in_turns(CandidateRunner& runner, const std::string& rule, const std::string& found,
                   const std::string& function, const std::vector<TensorSpec>& args, size_t inputs,
                   const RunOptions& options);

/// A kernel by plans beside the same kernel by those of its rules; CompileHost where one of both cannot be built.
Turns plans_in_turns(const Task& task, const kernel::RecordedPlans& plans,
                     const kernel::CompileEnvironment& environment, const BuildPrograms& build, CandidateRunner& runner,
                     const RunOptions& options);

double median(std::vector<double> values);

}  // namespace tessera::tune
