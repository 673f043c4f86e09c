#pragma once
// A model tuned as the command line and `tvmc.tune` do it: its kernels, the search, the proof, the records.

#include <memory>
#include <string>
#include <vector>

#include "driver/compile_model.h"
#include "tune/tuner.h"

namespace tessera {

/// The process of this machine that runs candidates: the program beside the library.
std::string worker_program();
/// The library that this is in, which makes that program one that compiles.
std::string compiler_library();

struct TuneModelOptions {
  CompileOptions compile;
  tune::TuneOptions tune;
  double build_timeout = 60;         // seconds of building a candidate
  std::string output;                // records are appended to this file
  std::vector<std::string> earlier;  // files of records that the search knows of
};

/// Seconds of runs of the whole model in turns, before and after.
using CompareModels = std::function<std::pair<double, double>(const CompiledModel& before, const CompiledModel& after)>;

struct TunedModel {
  std::vector<tune::Task> tasks;         // all, also those that are not tuned
  size_t resumed = 0;                    // measurements of earlier runs that were used
  size_t confirmed = 0;                  // records that were written as confirmed
  double seconds = 0, rule_seconds = 0;  // a run of the model with them and by the rules; equal without
};

/// Tunes "main". Every measurement is a line of the output once it is made. Winners are written as confirmed where the whole model is
/// faster with them, twice and by more than a percent; where it is not, half of them, those that gain most, are tried, and so on.
class ModelTuner {
 public:
  ModelTuner(const LoadedModel& model, TuneModelOptions options, std::unique_ptr<tune::CandidateRunner> runner);
  const tune::Tuner& tuner() const { return *tuner_; }
  const std::vector<tune::Task>& tasks() const { return tasks_; }
  TunedModel run(tune::TuneListener& listener, const CompareModels& compare);

 private:
  CompiledModel compile(const Map<String, ObjectRef>& plans) const;
  bool is_faster(const CompiledModel& tuned, const CompareModels& compare, TunedModel* out) const;
  void take_winners(std::vector<tune::Winner> winners, const CompareModels& compare, TunedModel* out);

  LoadedModel model_;
  TuneModelOptions options_;
  std::unique_ptr<tune::CandidateRunner> runner_;
  CompiledModel before_;
  std::vector<tune::Task> tasks_;
  std::unique_ptr<tune::Tuner> tuner_;
  size_t resumed_ = 0;
  std::unique_ptr<kernel::RecordWriter> writer_;
};

}  // namespace tessera
