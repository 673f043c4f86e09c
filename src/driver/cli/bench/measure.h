#pragma once
// Times of runs: how many to take, in which order, and what they amount to.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

/// Seconds of one run, and what is known of them.
struct Statistics {
  int64_t runs = 0;
  double mean = 0, min = 0, p50 = 0, p90 = 0, p99 = 0;
};
/// `samples` are means of `number` runs each; at least one. Percentiles are those of the samples, by nearest rank.
Statistics statistics_of(std::vector<double> samples, int64_t number);

/// One of those whose times are compared.
struct Contestant {
  std::string name;
  /// Takes `count` samples, each the mean of `number` runs, in seconds.
  std::function<std::vector<double>(int64_t count, int64_t number)> measure;
};

struct MeasurePlan {
  double seconds = 2;              // for each contestant, warm-up left out
  int64_t repeat = 0, number = 0;  // samples and runs in each; 0: as fits the time
};

/// Statistics of each. First all run for a fifth of the time without being counted. Then they take turns, a twentieth of a second or
/// one sample each, so that a disturbance of the machine hits all of them. Unless it is told, a sample is so many runs
/// that it takes 50 microseconds, and there are at least five samples.
std::vector<Statistics> measure_in_turns(const std::vector<Contestant>& contestants, const MeasurePlan& plan);

/// Runs in a second when `callers` threads call `run(caller)` again and again for `seconds`.
double throughput(int callers, double seconds, const std::function<void(int caller)>& run);

/// "12.3 ms", "840 us"
std::string seconds_text(double seconds);

}  // namespace tessera::cli
