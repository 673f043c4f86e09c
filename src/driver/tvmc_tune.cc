// What `tessera.driver.tvmc.tune` calls.

#include "driver/cli/tune/model_turns.h"
#include "driver/cli/tune/tune_screen.h"
#include "driver/tune_model.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

template <class T>
void take_option(const Map<String, ObjectRef>& options, const char* name, T* out) {
  if (options.count(name)) *out = Any::of_object(options[name].get()).to<T>();
}

std::unique_ptr<tune::CandidateRunner> runner_of(const Map<String, ObjectRef>& options) {
  std::string host, key;
  int64_t port = 0;
  take_option(options, "hostname", &host);
  take_option(options, "rpc_key", &key);
  take_option(options, "port", &port);
  if (host.empty()) return tune::make_local_runner(worker_program());
  return tune::make_rpc_runner(host, static_cast<int>(port), key, 1);
}

/// Appends records to "output"; gives what came of it.
Map<String, ObjectRef> tune_model(const IRModule& mod, const Map<String, NDArray>& params,
                                  const Map<String, ObjectRef>& given) {
  TuneModelOptions options;
  Array<String> earlier;
  int64_t threads = 0;
  double seconds = 1;
  take_option(given, "target", &options.compile.target);
  take_option(given, "desired_layout", &options.compile.desired_layout);
  take_option(given, "output", &options.output);
  take_option(given, "earlier", &earlier);
  take_option(given, "trials", &options.tune.trials);
  take_option(given, "seconds", &options.tune.seconds);
  take_option(given, "early_stopping", &options.tune.early_stopping);
  take_option(given, "number", &options.tune.run.number);
  take_option(given, "repeat", &options.tune.run.repeat);
  take_option(given, "min_repeat_ms", &options.tune.run.min_repeat_ms);
  take_option(given, "timeout", &options.tune.run.timeout);
  take_option(given, "build_timeout", &options.build_timeout);
  take_option(given, "parallel", &threads);
  take_option(given, "compare_seconds", &seconds);
  options.tune.threads = static_cast<size_t>(std::max<int64_t>(threads, 0));
  for (const String& file : earlier) options.earlier.push_back(file.str());
  if (options.compile.target->kind->name != "llvm")
    throw Error(NotImplementedError) << "kernels for CPUs (llvm) are tuned, not those of "
                                     << options.compile.target.str();
  ModelTuner tuner({mod, params, ""}, options, runner_of(given));
  cli::TuneScreen screen(false);
  const TunedModel result = tuner.run(screen, [&](const CompiledModel& before, const CompiledModel& after) {
    return cli::seconds_in_turns(before, after, {}, seconds);
  });
  screen.end();
  return {{"confirmed", box(Any(result.confirmed))},
          {"trials", box(Any(tuner.tuner().trials()))},
          {"kernels", box(Any(tuner.tuner().tasks().size()))},
          {"rule_seconds", number_boxes.box_float(result.rule_seconds)},
          {"seconds", number_boxes.box_float(result.seconds)}};
}

/// How many records a file has, the plans that they confirm, and what was skipped.
Array<ObjectRef> look_at_records(const std::string& path) {
  const kernel::RecordFile file = kernel::load_records(path);
  Array<String> skipped(file.skipped.begin(), file.skipped.end());
  return {box(Any(file.records.size())), file.plans(), skipped};
}

Globals tvmc_tune_globals{{"driver.tune_model", tune_model}, {"driver.look_at_records", look_at_records}};

}  // namespace
}  // namespace tessera
