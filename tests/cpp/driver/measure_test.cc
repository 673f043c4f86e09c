#include "driver/cli/bench/measure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "driver/cli/diff/compare.h"

namespace tessera::cli {
namespace {

TEST(Measure, PercentilesAreSamplesByNearestRank) {
  std::vector<double> samples;
  for (int i = 100; i > 0; --i) samples.push_back(i);
  Statistics of = statistics_of(samples, 3);
  EXPECT_EQ(of.runs, 300);
  EXPECT_EQ(of.min, 1);
  EXPECT_EQ(of.p50, 50);
  EXPECT_EQ(of.p90, 90);
  EXPECT_EQ(of.p99, 99);
  EXPECT_DOUBLE_EQ(of.mean, 50.5);
  EXPECT_EQ(statistics_of({2.0}, 1).p99, 2);
}

TEST(Measure, ContestantsTakeTurnsAndGiveAsManySamplesAsTold) {
  std::string order;
  auto contestant = [&](char name) {
    return Contestant{std::string(1, name), [&order, name](int64_t count, int64_t number) {
                        order += name;
                        std::this_thread::sleep_for(std::chrono::milliseconds(30 * count * number));
                        return std::vector<double>(static_cast<size_t>(count), 0.03);
                      }};
  };
  std::vector<Statistics> of = measure_in_turns({contestant('a'), contestant('b')}, {0.0, 4, 1});
  EXPECT_EQ(of[0].runs, 4);
  EXPECT_EQ(of[1].runs, 4);
  EXPECT_NE(order.find("aba"), std::string::npos) << order;
}

TEST(Measure, ShortRunsAreTakenTogether) {
  int64_t longest = 0;
  Contestant fast{"fast", [&](int64_t count, int64_t number) {
                    longest = std::max(longest, number);
                    return std::vector<double>(static_cast<size_t>(count), 1e-6);
                  }};
  measure_in_turns({fast}, {0.01, 5, 0});
  EXPECT_EQ(longest, 50);
}

TEST(Measure, CallersRunAtOnceAndTheirErrorsComeOut) {
  std::atomic<int> inside{0}, most{0};
  double rate = throughput(3, 0.1, [&](int) {
    int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --inside;
  });
  EXPECT_EQ(most, 3);
  EXPECT_GT(rate, 100);
  EXPECT_THROW(throughput(2, 0.01, [](int) { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(Measure, TimesAreTold) {
  EXPECT_EQ(seconds_text(2.5), "2.5 s");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(4.2e-5), "42 us");
}

// ---- comparing tensors ----------------------------------------------------------------------------------------------

NDArray floats(std::vector<float> values) {
  std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
  NDArray out = NDArray::empty(shape, DataType::Float(32));
  std::copy(values.begin(), values.end(), out.data<float>());
  return out;
}

NDArray integers(std::vector<int64_t> values) {
  std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
  NDArray out = NDArray::empty(shape, DataType::Int(64));
  std::copy(values.begin(), values.end(), out.data<int64_t>());
  return out;
}

TEST(Compare, TheWorstElementIsNamed) {
  Difference of = compare(floats({1, 2, 3}), floats({1, 2.5, 3.1f}), {});
  EXPECT_FALSE(of.agrees);
  EXPECT_EQ(of.wrong, 2);
  EXPECT_EQ(of.worst, 1);
  EXPECT_NEAR(of.max_abs, 0.5, 1e-6);
  std::vector<int64_t> shape{3};
  EXPECT_NE(of.text(shape).find("at (1,): 2 and 2.5"), std::string::npos) << of.text(shape);
}

TEST(Compare, SmallValuesBesideLargeOnesMayBeRoundedLikeThose) {
  EXPECT_TRUE(compare(floats({1000, 0.001f}), floats({1000, 0.002f}), {}).agrees);
  EXPECT_FALSE(compare(floats({1, 0.001f}), floats({1, 0.002f}), {}).agrees);
  EXPECT_FALSE(compare(floats({1000, 0.001f}), floats({1000, 0.002f}), {1e-3, 0.0}).agrees);
}

TEST(Compare, NotANumberAgreesWithItselfOnly) {
  float nan = NAN, infinity = INFINITY;
  EXPECT_TRUE(compare(floats({nan, infinity, 1}), floats({nan, infinity, 1}), {}).agrees);
  EXPECT_EQ(compare(floats({nan, infinity, 1}), floats({1, -infinity, nan}), {}).wrong, 3);
}

TEST(Compare, IntegersMustBeEqual) {
  EXPECT_FALSE(compare(integers({100000}), integers({100001}), {}).agrees);
  EXPECT_FALSE(compare(integers({(int64_t{1} << 60) + 1}), integers({int64_t{1} << 60}), {}).agrees);
  EXPECT_TRUE(compare(integers({100}), integers({101}), {0, 1.0}).agrees);
}

TEST(Compare, OtherShapesAndKindsDisagree) {
  EXPECT_EQ(compare(floats({1}), floats({1, 2}), {}).problem, "the shapes are (1,) and (2,)");
  EXPECT_EQ(compare(floats({1}), integers({1}), {}).problem, "the element types are float32 and int64");
}

}  // namespace
}  // namespace tessera::cli
