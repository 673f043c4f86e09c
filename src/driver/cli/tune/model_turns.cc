#include "driver/cli/tune/model_turns.h"

#include "base/progress.h"
#include "driver/cli/bench/measure.h"
#include "driver/cli/runner.h"

namespace tessera::cli {

std::pair<double, double> seconds_in_turns(const CompiledModel& before, const CompiledModel& after,
                                           const InputShapes& shapes, double seconds) {
  begin_stage("measure in turns");
  Runner first(before.runnable, device_of("cpu")), second(after.runnable, device_of("cpu"));
  for (Runner* each : {&first, &second}) each->set_inputs(make_inputs(each->inputs(), {}, fill_of("random"), shapes));
  auto sample = [](Runner& runner) {
    return [&runner](int64_t count, int64_t number) { return runner.measure(number, count, false); };
  };
  const std::vector<Contestant> both{{"rules", sample(first)}, {"tuned", sample(second)}};
  const std::vector<Statistics> times = measure_in_turns(both, {.seconds = seconds});
  return {times[0].min, times[1].min};
}

}  // namespace tessera::cli
