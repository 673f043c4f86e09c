// Tasks on several threads: each once, all of them, and the first error.

#include "base/run_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(RunTasks, EachIsRunOnceWhateverTheNumberOfThreads) {
  for (size_t threads : {1, 2, 7, 100}) {
    std::vector<std::atomic<int>> runs(50);
    run_tasks(runs.size(), threads, [&](size_t i) { ++runs[i]; });
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
  }
  run_tasks(0, 4, [](size_t) { FAIL(); });
}

TEST(RunTasks, TheErrorOfTheFirstIsThrownWhenAllAreDone) {
  std::atomic<int> runs{0};
  try {
    run_tasks(20, 4, [&](size_t i) {
      ++runs;
      if (i == 7 || i == 12) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(runs, 20);
}

}  // namespace
}  // namespace tessera
