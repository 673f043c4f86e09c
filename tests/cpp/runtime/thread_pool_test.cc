#include "runtime/cpu/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <thread>

#include "expect_error.h"
#include "runtime/packed_func.h"

namespace tessera {
namespace {

/// A region whose task is a C++ function of (task id, number of tasks) giving the status.
int launch(int num_task, const std::function<int(int, TesseraParallelGroupEnv*)>& task) {
  return TesseraBackendParallelLaunch(
      [](int id, TesseraParallelGroupEnv* env, void* f) {
        return (*static_cast<const std::function<int(int, TesseraParallelGroupEnv*)>*>(f))(id, env);
      },
      const_cast<void*>(static_cast<const void*>(&task)), num_task);
}

/// Sets the number of threads for one test.
struct ProcessThreads {
  explicit ProcessThreads(int count) { set_num_threads(count); }
  ~ProcessThreads() { set_num_threads(0); }
};

TEST(ThreadPool, RunsEveryTaskOnceOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 8}) {
    ProcessThreads scope(threads);
    EXPECT_EQ(num_threads(), threads);
    for (int tasks : {1, 2, 7, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      ASSERT_EQ(launch(tasks,
                       [&](int id, TesseraParallelGroupEnv* env) {
                         EXPECT_EQ(env->num_task, tasks);
                         return runs[static_cast<size_t>(id)]++, 0;
                       }),
                0);
      for (auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, ZeroTasksMeansOnePerThread) {
  ProcessThreads scope(3);
  std::atomic<int> seen{0};
  EXPECT_EQ(launch(0, [&](int, TesseraParallelGroupEnv* env) { return seen += env->num_task, 0; }), 0);
  EXPECT_EQ(seen.load(), 9);
}

TEST(ThreadPool, PiecesOfWorkAreSharedByTasksOfWhichThereAreNoMore) {
  for (int threads : {1, 2, 3}) {
    ProcessThreads scope(threads);
    for (int pieces : {1, 2, 5, 1000, INT_MAX, INT_MIN}) {  // the last is as many as there can be
      const int asked = pieces < 0 ? pieces : -pieces;
      std::atomic<int> runs{0}, tasks{0};
      ASSERT_EQ(launch(asked, [&](int, TesseraParallelGroupEnv* env) { return tasks = env->num_task, ++runs, 0; }), 0);
      EXPECT_EQ(runs, tasks);
      EXPECT_GE(tasks, pieces < 0 ? threads : std::min(pieces, threads));
      EXPECT_LE(tasks, pieces < 0 ? 16 * threads : pieces);
    }
  }
}

TEST(ThreadPool, AThreadThatIsDoneTakesOverWhatOthersHaveNotBegun) {
  ProcessThreads scope(2);
  std::atomic<int> done{0};
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  EXPECT_EQ(launch(8,
                   [&](int id, TesseraParallelGroupEnv*) {  // the first takes as long as all others together
                     while (id == 0 && done < 7 && std::chrono::steady_clock::now() < give_up)
                       std::this_thread::yield();
                     return ++done, 0;
                   }),
            0);
  EXPECT_EQ(done, 8);
  EXPECT_LT(std::chrono::steady_clock::now(), give_up);
}

TEST(ThreadPool, ManyRegionsInARowSeeEachOthersWrites) {
  ProcessThreads scope(2);
  std::vector<int64_t> values(64, 0);  // plain memory: the pool orders the accesses
  for (int round = 0; round < 2000; ++round)
    ASSERT_EQ(launch(0,
                     [&](int id, TesseraParallelGroupEnv* env) {
                       // Tasks are permuted every round.
                       size_t begin = static_cast<size_t>((id + round) % env->num_task) * 32;
                       for (size_t i = begin; i < begin + 32; ++i) ++values[i];
                       return 0;
                     }),
              0);
  for (int64_t value : values) EXPECT_EQ(value, 2000);
}

TEST(ThreadPool, ARegionInsideARegionRunsOnItsThread) {
  ProcessThreads scope(2);
  std::atomic<int> inner_tasks{0};
  std::atomic<bool> moved{false};
  ASSERT_EQ(launch(0,
                   [&](int, TesseraParallelGroupEnv*) {
                     auto here = std::this_thread::get_id();
                     return launch(5, [&](int, TesseraParallelGroupEnv*) {
                       if (std::this_thread::get_id() != here) moved = true;
                       return ++inner_tasks, 0;
                     });
                   }),
            0);
  EXPECT_EQ(inner_tasks.load(), 10);
  EXPECT_FALSE(moved);
}

TEST(ThreadPool, TheErrorOfTheLowestFailedTaskReachesTheCaller) {
  for (int threads : {1, 2, 4}) {
    ProcessThreads scope(threads);
    for (int round = 0; round < 50; ++round) {
      int status = launch(8, [&](int id, TesseraParallelGroupEnv*) {
        if (id < 3) return 0;
        TesseraAPISetLastError(("ValueError: task " + std::to_string(id)).c_str());
        return -1;
      });
      ASSERT_EQ(status, -1);
      EXPECT_STREQ(TesseraGetLastError(), "ValueError: task 3");
    }
    EXPECT_EQ(launch(8, [](int, TesseraParallelGroupEnv*) { return 0; }), 0);  // the pool goes on
  }
}

TEST(ThreadPool, AnExceptionOfATaskIsItsError) {
  ProcessThreads scope(2);
  EXPECT_EQ(launch(2,
                   [](int id, TesseraParallelGroupEnv*) -> int {
                     if (id == 1) throw Error(KeyError) << "thrown on another thread";
                     return 0;
                   }),
            -1);
  EXPECT_EQ(last_error()->kind(), KeyError);
}

TEST(ThreadPool, ABarrierWaitsForAllTasks) {
  ProcessThreads scope(4);
  std::atomic<int> before{0};
  std::atomic<bool> early{false};
  for (int round = 1; round <= 100; ++round)
    ASSERT_EQ(launch(0,
                     [&](int id, TesseraParallelGroupEnv* env) {
                       for (int phase = 0; phase < 3; ++phase) {
                         ++before;
                         if (TesseraBackendParallelBarrier(id, env) != 0) return -1;
                         if (before.load() < ((round - 1) * 3 + phase + 1) * 4) early = true;
                         if (TesseraBackendParallelBarrier(id, env) != 0) return -1;
                       }
                       return 0;
                     }),
              0);
  EXPECT_FALSE(early);
}

TEST(ThreadPool, ABarrierWithMoreTasksThanThreadsIsAnErrorNotAHang) {
  ProcessThreads scope(2);
  EXPECT_EQ(launch(5, [](int id, TesseraParallelGroupEnv* env) { return TesseraBackendParallelBarrier(id, env); }), -1);
  EXPECT_THAT(TesseraGetLastError(), testing::HasSubstr("only 2 run at a time"));
}

TEST(ThreadPool, ABarrierDoesNotWaitForAFailedTask) {
  ProcessThreads scope(2);
  EXPECT_EQ(launch(2,
                   [](int id, TesseraParallelGroupEnv* env) {
                     if (id == 1) return TesseraBackendParallelBarrier(id, env);
                     TesseraAPISetLastError("ValueError: gave up");
                     return -1;
                   }),
            -1);
  EXPECT_STREQ(TesseraGetLastError(), "ValueError: gave up");
}

TEST(ThreadPool, ManyCallersAtOnceAllGetTheirAnswers) {
  ProcessThreads scope(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::atomic<int> sum{0};
        launch(4, [&](int id, TesseraParallelGroupEnv*) { return sum += id, 0; });
        if (sum != 6) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ProcessThreads scope(2);
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> ran{0};
    EXPECT_EQ(launch(0, [&](int, TesseraParallelGroupEnv*) { return ++ran, 0; }), 0);
    EXPECT_EQ(ran.load(), 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(ThreadPool, EachThreadUsesThePoolOfItsScope) {
  ProcessThreads process(2);
  Threads three(3, {}), one(1, {});
  {
    ThreadsScope scope(&three);
    EXPECT_EQ(num_threads(), 3);
    std::atomic<int> ran{0};
    EXPECT_EQ(launch(0, [&](int, TesseraParallelGroupEnv*) { return ++ran, 0; }), 0);
    EXPECT_EQ(ran.load(), 3);
    {
      ThreadsScope inner(&one);
      EXPECT_EQ(num_threads(), 1);
      ThreadsScope innermost(nullptr);
      EXPECT_EQ(num_threads(), 2);
    }
    std::thread([] { EXPECT_EQ(num_threads(), 2) << "scopes are a thread's own"; }).join();
    EXPECT_EQ(num_threads(), 3);
  }
  EXPECT_EQ(num_threads(), 2);
}

TEST(ThreadPool, PoolsOfTheirOwnRunAtTheSameTimeAndEnd) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      for (int made = 0; made < 20; ++made) {
        Threads own(1 + (c + made) % 3, {});
        ThreadsScope scope(&own);
        for (int round = 0; round < 20; ++round) {
          std::atomic<int> sum{0};
          launch(4, [&](int id, TesseraParallelGroupEnv*) { return sum += id, 0; });
          if (sum != 6 || num_threads() != own.count()) ++wrong;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, ThreadsThatCannotBeAreTold) {
  EXPECT_THAT(error_of([] { Threads(0, {}); }), testing::HasSubstr("from 1 to 1024, not 0"));
  EXPECT_THAT(error_of([] { Threads(-1, {}); }), testing::HasSubstr("not -1"));
  EXPECT_THAT(error_of([] { Threads(1, {100000}); }), testing::HasSubstr("CPU 100000, which this process may not use"));
  EXPECT_THAT(error_of([] { Threads(1, {-1}); }), testing::HasSubstr("CPU -1"));
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of a process with threads
TEST(ThreadPool, AForkedChildHasAPoolOfItsOwn) {
  ProcessThreads scope(2);
  ASSERT_EQ(launch(0, [](int, TesseraParallelGroupEnv*) { return 0; }), 0);
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int> ran{0};
    int status = launch(0, [&](int, TesseraParallelGroupEnv*) { return ++ran, 0; });
    _exit(status == 0 && ran == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace tessera
