// tessera tune, tessera micro: commands of tvmc that are not there yet. Their flags are read, so that a wrong one is told
// apart from a right one that cannot be served.

#include <CLI/CLI.hpp>

#include "driver/cli/cli.h"
#include "driver/cli/model_flags.h"

namespace tessera::cli {
namespace {

struct Tune {
  ModelFlags model;
  TargetFlags target;
  std::string output;
  std::map<std::string, std::string> others;
};

}  // namespace

void add_unavailable(CLI::App& app) {
  auto command = std::make_shared<Tune>();
  CLI::App* tune = app.add_subcommand("tune", "Look for faster schedules (not there yet)");
  command->model.add_to(*tune);
  command->target.add_to(*tune);
  tune->add_option("-o,--output", command->output, "Where records are written")->required();
  for (const char* name : {"early-stopping", "min-repeat-ms", "number", "parallel", "repeat", "timeout", "trials",
                           "cache-line-bytes", "num-cores", "vector-unit-bytes", "max-shared-memory-per-block",
                           "max-local-memory-per-block", "max-threads-per-block", "max-vthread-extent", "warp-size"})
    tune->add_option(std::string("--") + name, command->others[name])->check(CLI::Number);
  for (const char* name : {"rpc-key", "rpc-tracker", "target-host", "tuning-records"})
    tune->add_option(std::string("--") + name, command->others[name]);
  tune->add_option("--desired-layout", command->others["desired-layout"])->check(CLI::IsMember({"NCHW", "NHWC"}));
  tune->add_option("--tuner", command->others["tuner"])
      ->check(CLI::IsMember({"ga", "gridsearch", "random", "xgb", "xgb_knob", "xgb-rank"}));
  for (const char* name : {"enable-autoscheduler", "include-simple-tasks", "log-estimated-latency"})
    tune->add_flag(std::string("--") + name);
  tune->callback([command] {
    throw Error(NotImplementedError) << "tuning is not there yet; kernels are scheduled by rules: `tessera compile "
                                     << command->model.path << "` needs no records";
  });

  CLI::App* micro = app.add_subcommand("micro", "Projects for microcontrollers (not there yet)");
  micro->allow_extras();
  micro->callback([] {
    throw Error(NotImplementedError)
        << "projects for microcontrollers are not there yet; `tessera compile` makes libraries "
        << "for Linux on x86, ARM and RISC-V";
  });
}

}  // namespace tessera::cli
