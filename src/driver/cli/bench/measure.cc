#include "driver/cli/bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace tessera::cli {
namespace {

constexpr double kMinSample = 50e-6, kTurn = 0.05;
constexpr int64_t kMinSamples = 5;
/// Before a turn: threads of the contestant before wait for more work by spinning, some for 35 ms, and take CPUs meanwhile.
constexpr std::chrono::milliseconds kPause{60};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A contestant and its samples so far.
struct Race {
  const Contestant& contestant;
  std::vector<double> samples = {};
  double spent = 0, sample_seconds = 0;  // in all, and what one sample took at last
  int64_t number = 1;

  void take(int64_t count) {
    double begin = now();
    std::vector<double> taken = contestant.measure(count, number);
    double seconds = now() - begin;
    spent += seconds;
    sample_seconds = seconds / static_cast<double>(count);
    samples.insert(samples.end(), taken.begin(), taken.end());
  }

  void warm_up(const MeasurePlan& plan) {
    double until = now() + plan.seconds / 5;
    do take(1);
    while (now() < until && plan.seconds > 0);
    double fastest = *std::min_element(samples.begin(), samples.end());
    number = plan.number ? plan.number : std::max<int64_t>(1, std::llround(kMinSample / std::max(fastest, 1e-9)));
    sample_seconds = fastest * static_cast<double>(number);
    samples.clear();
    spent = 0;
  }

  bool is_done(const MeasurePlan& plan) const {
    auto count = static_cast<int64_t>(samples.size());
    return plan.repeat ? count >= plan.repeat : count >= kMinSamples && spent >= plan.seconds;
  }

  void take_turn(const MeasurePlan& plan) {
    auto count = std::max<int64_t>(1, std::llround(kTurn / std::max(sample_seconds, 1e-9)));
    if (plan.repeat) count = std::min(count, plan.repeat - static_cast<int64_t>(samples.size()));
    take(count);
  }
};

}  // namespace

Statistics statistics_of(std::vector<double> samples, int64_t number) {
  std::sort(samples.begin(), samples.end());
  auto rank = [&](double share) {
    auto nearest = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return samples[std::clamp<size_t>(nearest, 1, samples.size()) - 1];
  };
  Statistics out;
  out.runs = static_cast<int64_t>(samples.size()) * number;
  out.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  out.min = samples.front();
  out.p50 = rank(0.5);
  out.p90 = rank(0.9);
  out.p99 = rank(0.99);
  return out;
}

std::vector<Statistics> measure_in_turns(const std::vector<Contestant>& contestants, const MeasurePlan& plan) {
  std::vector<Race> races;
  for (const Contestant& contestant : contestants) races.push_back({contestant});
  for (Race& race : races) race.warm_up(plan);
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (Race& race : races) {
      if (race.is_done(plan)) continue;
      if (races.size() > 1) std::this_thread::sleep_for(kPause);
      race.take_turn(plan);
      is_done = is_done && race.is_done(plan);
    }
  }
  std::vector<Statistics> out;
  for (Race& race : races) out.push_back(statistics_of(std::move(race.samples), race.number));
  return out;
}

double throughput(int callers, double seconds, const std::function<void(int caller)>& run) {
  std::atomic<int64_t> runs{0};
  std::atomic<bool> stops{false};
  std::mutex mutex;
  std::exception_ptr failed;
  auto work = [&](int caller) {
    try {
      while (!stops) run(caller), ++runs;
    } catch (...) {
      std::lock_guard lock(mutex);
      failed = std::current_exception();
      stops = true;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) threads.emplace_back(work, i);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 5));  // warm-up
  int64_t before = runs;
  double begin = now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  int64_t after = runs;
  double end = now();
  stops = true;
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
  return static_cast<double>(after - before) / (end - begin);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace tessera::cli
